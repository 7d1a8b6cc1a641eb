"""Validation of a multilingual translator: each direction, and their mean."""

import torch
from torch import nn

from multihead.data.prepare_corpora import PreparedCorpora
from multihead.inspect.report import AlignedSentence
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.tasks.translation.validation import Validator
from multihead.training import Validation

METRICS = ("loss", "bleu", "chrf")
"""Metrics that are logged for each direction."""


class DirectionsValidator:
    """Validates a model in every direction, on ``validation.max_examples`` pairs in total.

    So validation takes as long for two directions as for two hundred. The unweighted mean over directions
    selects the best checkpoint.
    """

    def __init__(self, prepared: PreparedCorpora, recipe: Recipe[Settings], device: torch.device) -> None:
        count = len(prepared.directions)
        self.samples = recipe.validation.samples
        changes = {
            "max_pairs": max(1, recipe.validation.max_examples // count),
            "samples": -(-self.samples // count),
        }
        validation = recipe.validation.model_copy(update=changes)
        self.validators = {
            one.name: Validator(one.prepared, recipe, device, validation=validation)
            for one in prepared.directions
        }

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return the mean of each metric, and loss, BLEU and chrF by direction ("bleu de-en")."""
        found = {name: validate(model, step) for name, validate in self.validators.items()}
        metrics = {
            metric: sum(one.metrics[metric] for one in found.values()) / len(found)
            for metric in next(iter(found.values())).metrics
        }
        single = {
            f"{metric} {name}": one.metrics[metric] for metric in METRICS for name, one in found.items()
        }
        shown = [f"{name}\n{one.samples}" for name, one in found.items() if one.samples][: self.samples]
        return Validation({**metrics, **single}, "\n\n".join(shown))

    def attention_maps(self, model: nn.Module) -> list[AlignedSentence]:
        """Return attention maps for a few validation sentences of the first direction."""
        return next(iter(self.validators.values())).attention_maps(model)
