"""BERT with a linear classifier over [CLS], for fine-tuning (Devlin et al. 2019, sec. 4.1)."""

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from multihead.batch import Input, LabelledBatch
from multihead.models import bert
from multihead.nn import Loss
from multihead.nn.losses import LossTerm, smoothed_cross_entropy

TASK = "classification"


class Settings(bert.Settings):
    """Settings of a BERT classifier; sizes are those of the pretrained BERT."""

    classes: PositiveInt = 2
    """Number of classes; set by the data."""
    class_names: tuple[str, ...] = ()
    """Names of the classes; set by the data."""
    exact_match: bool = False
    """Of pairs of texts: add an embedding to each token that the other text has too (exact match, Chen et al.
    2017, sec. 3.2)."""


class BERTClassifier(bert.FineTunedBERT):
    """Maps texts to logits of their classes."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, settings.classes, pooled=True)
        self.matched = nn.Parameter(torch.zeros(settings.d_model)) if settings.exact_match else None

    def forward(self, read: Input) -> Tensor:
        """Logits of the classes, (B, K)."""
        features_BNd = 0.0 if self.matched is None else exact_matches(read)[..., None] * self.matched
        hidden_BNd = self.encoder(read, features_BNd)
        logits_BK: Tensor = self.output(self.dropout(self.encoder.pooled_output(hidden_BNd)))
        return logits_BK

    def loss(self, batch: LabelledBatch, step: int) -> Loss:
        """Cross-entropy per text; accuracy as a metric."""
        loss, _, correct = smoothed_cross_entropy(self(batch.input), batch.labels_B, 0.0)
        return {"loss": LossTerm(1.0, loss, per="texts"), "accuracy": LossTerm(0.0, correct, per="texts")}

    def depths(self) -> dict[str, int]:
        """Return the number of layers above each parameter, for layer-wise rates; 0 for the classifier."""
        count = self.settings.num_layers
        depths = {}
        for name, _ in self.named_parameters():
            depths[name] = 0
            if name.startswith("encoder.stack.layers."):
                depths[name] = count - int(name.split(".")[3])
            elif name.startswith("encoder.") and not name.startswith("encoder.pool."):
                depths[name] = count + 1
        return depths


def exact_matches(read: Input) -> Tensor:
    """True for each token that both texts of a pair have, (B, N)."""
    ids_BN, segments_BN = read.ids_BN, read.segments_BN
    equal_BNN = ids_BN[:, :, None] == ids_BN[:, None, :]
    return (equal_BNN & (segments_BN[:, :, None] != segments_BN[:, None, :])).any(-1)


Model = BERTClassifier
