"""Settings of object detection."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveInt, field_validator

from multihead.recipe.settings.base import Settings, distinct
from multihead.recipe.settings.training import OptimisationSettings, ValidationSchedule


class DataSettings(Settings):
    """Images with boxes of the objects in them."""

    dir: str = "."
    """Base folder of the names below."""
    train: tuple[str, ...] = ()
    """Training images in COCO's format: a folder of images with one JSON file of annotations in it, or the
    JSON file and the folder. With generate = "garments": two IDX files, images and labels."""
    valid: tuple[str, ...] = ()
    """Validation images, likewise. Default: hold out part of the training images, or generate others."""
    tests: dict[str, tuple[str, ...]] = Field({})
    """Test sets for `multihead evaluate RUN`: name = anything that `train` may be."""
    generate: Literal["", "shapes", "garments"] = ""
    """Scenes that multihead generates, in place of files: coloured shapes, or garments cut out of the images
    of Fashion-MNIST. Every epoch has new ones."""
    generated: PositiveInt = 20_000
    """Number of generated scenes in an epoch."""
    generated_tests: PositiveInt = 1000
    """Number of scenes in the generated test set, whose seed is fixed."""
    most_objects: PositiveInt = 8
    """Maximum number of objects in a generated scene."""
    class_names: tuple[str, ...] = ()
    """Names of the classes, in order. Default: those of the files."""
    image_size: PositiveInt = 96
    """Height and width that images are scaled to, in pixels. The longer side is scaled to it, and the rest is
    filled with grey."""
    valid_fraction: float = Field(0.1, gt=0, lt=1)
    """Fraction of the training images held out for validation by default (at most 5,000)."""
    seed: int = 1
    """Seeds the choice of validation images and the generated scenes, independently of training.seed."""
    cache: str = ""
    """Folder of prepared data; default: the user's cache folder."""

    _class_names = field_validator("class_names")(distinct)


class TrainingSettings(OptimisationSettings):
    """Augmentation, optimiser, learning-rate schedule, batch size, checkpoint averaging and hardware."""

    batch_images: PositiveInt = 32
    """Batch size: images per batch."""
    flip: bool = False
    """Mirror half of the training images left to right, at random."""
    scale_jitter: float = Field(0.0, ge=0, lt=1)
    """Scale each training image by a random factor at most this far from 1, then cut it or fill it with
    grey to its size again (Ghiasi et al. 2021)."""


class ValidationSettings(ValidationSchedule):
    """Validation, model selection and early stopping."""

    metric: Literal["ap", "ap50", "loss"] = "ap"
    """Metric that selects the best checkpoint: average precision over thresholds from 0.5 to 0.95, or at 0.5,
    or the loss per object."""
    max_examples: PositiveInt = 500
    """Maximum number of validation images."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}
"""The sections of a recipe, except the model's."""
