"""BERT with a linear classifier at every position, for fine-tuning on tags (Devlin et al. 2019, sec. 5.3).

The first token of a word carries the word's tag. Trained from scratch it is an encoder with an output at
every position, of which the reversal of a sequence is the simplest task.
"""

from collections.abc import Mapping

from pydantic import PositiveInt
from torch import Tensor, nn

from multihead.batch import Input, TaggedBatch
from multihead.models import bert
from multihead.nn import Loss
from multihead.nn.initialisation import initialise
from multihead.nn.losses import LossTerm, smoothed_cross_entropy
from multihead.nn.modules import Dropout

TASK = "tagging"


class Settings(bert.Settings):
    """Settings of a BERT tagger; sizes are those of the pretrained BERT."""

    classes: PositiveInt = 2
    """Number of tags; set by the data."""
    class_names: tuple[str, ...] = ()
    """The tags; set by the data."""


class BERTTagger(nn.Module):
    """Maps texts to logits of the tags at every position."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.encoder = bert.BERTEncoder(settings)
        self.encoder.pool = nn.Identity()  # type: ignore[assignment]  # no output reads [CLS]
        self.dropout = Dropout(settings.dropout)
        self.output = nn.Linear(settings.d_model, settings.classes)
        initialise(self.output, "normal")

    @property
    def limit(self) -> int:
        """Maximum length of the input, special tokens included."""
        return self.settings.max_positions

    def forward(self, read: Input) -> Tensor:
        """Logits of the tags, (B, N, K)."""
        logits_BNK: Tensor = self.output(self.dropout(self.encoder(read)))
        return logits_BNK

    def loss(self, batch: TaggedBatch, step: int) -> Loss:
        """Cross-entropy per word; accuracy as a metric."""
        hidden_BNd = self.dropout(self.encoder(batch.input))
        begins = batch.tags_BN >= 0
        logits_WK = self.output(hidden_BNd[begins])
        loss, _, correct = smoothed_cross_entropy(logits_WK, batch.tags_BN[begins], 0.0)
        return {"loss": LossTerm(1.0, loss, per="tags"), "accuracy": LossTerm(0.0, correct, per="tags")}

    def taken_from(self, trained: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the reusable weights of a pretrained model: the encoder, and the classifier if it fits."""
        weights = self.state_dict()
        return {
            name: weight
            for name, weight in trained.items()
            if name in weights and weights[name].shape == weight.shape
        }


Model = BERTTagger
