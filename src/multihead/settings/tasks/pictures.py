"""What can be set of a classifier of pictures."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt, field_validator

from multihead.settings.base import Settings, distinct
from multihead.settings.training import OptimisationSettings, ValidationSchedule

USE = "classify {run} picture.png"
"""The command that uses a trained run."""
WORK = "telling pictures apart"
"""What a trained run is good for."""
SPEED_UNIT = "pictures"
"""What the speed of training is told in."""


class DataSettings(Settings):
    """Where the pictures and their classes come from."""

    dir: str = "."
    """Folder that the names below are relative to."""
    train: tuple[str, ...] = ()
    """Training pictures: a folder with a folder for each class, a CSV file (columns file and label), or two
    idx files, pictures and labels; files may be .gz."""
    valid: tuple[str, ...] = ()
    """Validation pictures, likewise. Without them a part of the training pictures is held out."""
    tests: dict[str, tuple[str, ...]] = Field({})
    """Test sets for `multihead classify RUN --tests`: name = what `train` can be."""
    generate: Literal["", "digits"] = ""
    """Pictures that the package draws itself, in place of files."""
    generated: PositiveInt = 6000
    """How many pictures are drawn."""
    class_names: tuple[str, ...] = ()
    """Names of the classes 0, 1, ... of idx files; of others, the names that are allowed. Else the labels as
    they are found, in order."""
    picture_size: NonNegativeInt = 0
    """Height and width that pictures are brought to: the shorter side is scaled to it, the longer one cropped
    in the middle. 0: the first training picture's shorter side."""
    channels: Literal["auto", "grey", "colour"] = "auto"
    """Bring pictures to one channel or to three; "auto": as the first training picture is."""
    valid_fraction: float = Field(0.1, gt=0, lt=1)
    """Part of the training pictures held out for validation where none are named (at most 5,000)."""
    seed: int = 1
    """Chooses what is held out, and draws what is generated; trainings that differ in training.seed alone see
    the same pictures."""
    max_pictures: NonNegativeInt = 0
    """Train on at most so many pictures, spread over all; 0: on all."""
    cache: str = ""
    """Folder of prepared pictures; default: the user's cache folder."""

    _class_names = field_validator("class_names")(distinct)


class AugmentationSettings(Settings):
    """How chance changes training pictures, each epoch anew; those of validation stay what they are."""

    crop: float = Field(0.0, ge=0, lt=1)
    """Crop a part of the picture: at random moved by up to this part of its size, edges black, and zoomed by
    a factor up to 1 / (1 - crop / 2)."""
    flip: bool = False
    """Mirror every other picture, left to right."""
    operations: NonNegativeInt = 0
    """RandAugment (Cubuk et al. 2020): how many of its operations are made on a picture; the paper: 2."""
    magnitude: float = Field(0.3, ge=0, le=1)
    """RandAugment: their strength."""
    erase: float = Field(0.0, ge=0, le=1)
    """Random erasing (Zhong et al. 2020): chance that a rectangle of 2 to 33 % is replaced by noise."""
    mixup: float = Field(0.0, ge=0, le=1)
    """mixup (Zhang et al. 2018): alpha of the Beta distribution by which pictures are mixed; 0: never."""


class TrainingSettings(AugmentationSettings, OptimisationSettings):
    """How the weights are found, and how chance changes the pictures meanwhile, each epoch anew."""

    batch_pictures: PositiveInt = 128
    """Pictures a batch."""


class ValidationSettings(ValidationSchedule):
    """How a run is watched, and when it stops."""

    metric: Literal["accuracy", "f1", "loss"] = "accuracy"
    """What "best" means; f1 is the mean over classes, loss the negative log-likelihood a picture."""
    max_pictures: PositiveInt = 5000
    """Validate on at most so many pictures."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}
"""The sections of a recipe, besides the model's own."""
