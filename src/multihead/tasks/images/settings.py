"""Settings of image classification."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt, field_validator

from multihead.recipe.settings.base import Settings, distinct
from multihead.recipe.settings.training import OptimisationSettings, ValidationSchedule


class DataSettings(Settings):
    """Labelled images."""

    dir: str = "."
    """Base folder of the names below."""
    train: tuple[str, ...] = ()
    """Training images: a folder with a subfolder for each class, a CSV file (columns file and label), or two
    IDX files, images and labels; files may be .gz."""
    valid: tuple[str, ...] = ()
    """Validation images, likewise. Default: hold out part of the training images."""
    tests: dict[str, tuple[str, ...]] = Field({})
    """Test sets for `multihead classify RUN --tests`: name = anything that `train` may be."""
    generate: Literal["", "digits"] = ""
    """Images that multihead generates, in place of files."""
    generated: PositiveInt = 6000
    """Number of generated images."""
    class_names: tuple[str, ...] = ()
    """Names of the classes 0, 1, ... of IDX files; for other files, the allowed labels. Default: the labels
    found, sorted."""
    image_size: NonNegativeInt = 0
    """Height and width that images are resized to, in pixels: the shorter side is scaled to it, the longer
    one cropped to its centre. 0: the shorter side of the first training image."""
    channels: Literal["auto", "grey", "colour"] = "auto"
    """Convert images to greyscale or to colour; "auto": as the first training image."""
    valid_fraction: float = Field(0.1, gt=0, lt=1)
    """Fraction of the training images held out for validation by default (at most 5,000)."""
    seed: int = 1
    """Seeds the choice of validation images and the generated ones, independently of training.seed."""
    max_images: NonNegativeInt = 0
    """Maximum number of training images, sampled evenly; 0: all."""
    cache: str = ""
    """Folder of prepared data; default: the user's cache folder."""

    _class_names = field_validator("class_names")(distinct)


class AugmentationSettings(Settings):
    """Augmentation of the training images, random in each epoch; validation images are not augmented."""

    crop: float = Field(0.0, ge=0, lt=1)
    """Random crop: shift by up to this fraction of the size, filling with black, and zoom in by a factor of
    up to 1 / (1 - crop / 2)."""
    shift: NonNegativeInt = 0
    """Shift by up to this number of pixels each way, filling with black; nothing is resampled, so an image
    stays as sharp as it was (He et al. 2016, sec. 4.2: 4)."""
    flip: bool = False
    """Mirror half of the images left to right, at random."""
    operations: NonNegativeInt = 0
    """RandAugment (Cubuk et al. 2020): operations applied to an image; the paper: 2."""
    magnitude: float = Field(0.3, ge=0, le=1)
    """RandAugment: magnitude of the operations."""
    erase: float = Field(0.0, ge=0, le=1)
    """Random erasing (Zhong et al. 2020): probability of replacing a rectangle of 2 to 33 % by noise."""
    mixup: float = Field(0.0, ge=0, le=1)
    """mixup (Zhang et al. 2018): alpha of the Beta distribution of the mixing ratio; 0: no mixup."""


class TrainingSettings(AugmentationSettings, OptimisationSettings):
    """Augmentation, optimiser, learning-rate schedule, batch size, checkpoint averaging and hardware."""

    batch_images: PositiveInt = 128
    """Batch size: images per batch."""


class ValidationSettings(ValidationSchedule):
    """Validation, model selection and early stopping."""

    metric: Literal["accuracy", "f1", "loss"] = "accuracy"
    """Metric that selects the best checkpoint; f1: macro-averaged F1; loss: negative log-likelihood per
    image."""
    max_examples: PositiveInt = 5000
    """Maximum number of validation images."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}
"""The sections of a recipe, except the model's."""
