"""BERT with a linear classifier at every position, for fine-tuning on tags (Devlin et al. 2019, sec. 5.3).

The first token of a word carries the word's tag. Trained from scratch it is an encoder with an output at
every position, of which the reversal of a sequence is the simplest task.
"""

from pydantic import PositiveInt
from torch import Tensor

from multihead.batch import Input, TaggedBatch
from multihead.models import bert
from multihead.nn import Loss
from multihead.nn.losses import LossTerm, smoothed_cross_entropy

TASK = "tagging"


class Settings(bert.Settings):
    """Settings of a BERT tagger; sizes are those of the pretrained BERT."""

    classes: PositiveInt = 2
    """Number of tags; set by the data."""
    class_names: tuple[str, ...] = ()
    """The tags; set by the data."""


class BERTTagger(bert.FineTunedBERT):
    """Maps texts to logits of the tags at every position."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, settings.classes)

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


Model = BERTTagger
