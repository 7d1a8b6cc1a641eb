"""Validation of a multilingual translator: each direction, and their mean."""

from collections.abc import Collection

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

    The time of a validation does not depend on the number of directions. The unweighted mean over directions
    selects the best checkpoint.
    """

    def __init__(
        self,
        prepared: PreparedCorpora,
        recipe: Recipe[Settings],
        device: torch.device,
        *,
        known: Collection[str] = (),
        changed: Collection[str] = (),
    ) -> None:
        count = len(prepared.directions)
        self.samples = recipe.validation.samples
        changes = {
            "max_examples": max(1, recipe.validation.max_examples // count),
            "samples": -(-self.samples // count),
        }
        validation = recipe.validation.model_copy(update=changes)
        self.validators = {
            direction.name: Validator(
                direction.prepared, recipe, device, validation=validation, known=known, changed=changed
            )
            for direction in prepared.directions
        }

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return the mean of each metric, and loss, BLEU and chrF by direction ("bleu de-en")."""
        results = {name: validate(model, step) for name, validate in self.validators.items()}
        metrics = {
            metric: sum(result.metrics[metric] for result in results.values()) / len(results)
            for metric in next(iter(results.values())).metrics
        }
        for metric in METRICS:
            metrics |= {f"{metric} {name}": result.metrics[metric] for name, result in results.items()}
        samples = [f"{name}\n{result.samples}" for name, result in results.items() if result.samples]
        return Validation(metrics, "\n\n".join(samples[: self.samples]))

    def attention_maps(self, model: nn.Module) -> list[AlignedSentence]:
        """Return attention maps for a few validation sentences of the first direction."""
        return next(iter(self.validators.values())).attention_maps(model)
