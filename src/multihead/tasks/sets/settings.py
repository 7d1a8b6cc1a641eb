"""Settings of the odd one out: sets of images, of which one differs in class."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveInt

from multihead.recipe.settings.base import Settings
from multihead.recipe.settings.training import OptimisationSettings, ValidationSchedule
from multihead.tasks.images import settings as images


class DataSettings(images.DataSettings):
    """Labelled images, from which the sets are made: new ones in each epoch."""

    tests: dict[str, tuple[str, ...]] = Field({})
    """Test sets for `multihead evaluate RUN`: name = anything that `train` may be. Every image is the odd one
    of one set."""
    set_size: int = Field(10, ge=3)
    """Number of images in a set: one of a class, all others of another class."""


class TrainingSettings(OptimisationSettings):
    """Optimiser, learning-rate schedule, batch size, checkpoint averaging and hardware."""

    batch_sets: PositiveInt = 32
    """Batch size: sets per batch."""


class ValidationSettings(ValidationSchedule):
    """Validation, model selection and early stopping."""

    metric: Literal["accuracy", "loss"] = "accuracy"
    """Metric that selects the best checkpoint: share of the sets whose odd one is found, or negative
    log-likelihood per set."""
    max_examples: PositiveInt = 1000
    """Maximum number of validation sets."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}
"""The sections of a recipe, except the model's."""
