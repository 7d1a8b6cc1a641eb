"""What can be set of a classifier of texts."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveInt, field_validator

from multihead.settings.base import Settings, distinct
from multihead.settings.tasks.masked import TokenizerSettings
from multihead.settings.training import TrainingSettings as Base
from multihead.settings.training import ValidationSchedule

USE = "classify {run} -i texts.txt"
"""The command that uses a trained run."""
WORK = "telling texts apart"
"""What a trained run is good for."""


class DataSettings(Settings):
    """Where the texts and their classes come from: TSV files with a heading line; quotes are ordinary."""

    dir: str = "."
    """Folder that the file names below are relative to."""
    files: tuple[str, ...] = ()
    """Training file(s), plain or compressed."""
    valid_files: tuple[str, ...] = ()
    """Validation file(s). Without them a part of the texts is held out."""
    tests: dict[str, tuple[str, ...]] = Field({})
    """Test sets for `multihead classify RUN --tests`: name = ["file", ...]."""
    valid_fraction: float = Field(0.05, gt=0, lt=1)
    """Part of the texts held out for validation where no file is named; equal texts stay together."""
    seed: int = 1
    """Chooses what is held out; trainings that differ in training.seed alone hold out the same."""
    text_field: str = "text"
    """Heading of the column with the text."""
    label_field: str = "label"
    """Heading of the column with the class."""
    class_names: tuple[str, ...] = ()
    """What the classes are called, in the order of their sorted labels; none: the labels themselves."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    lowercase: bool = False
    """Lower-case all text, in training and later."""
    max_length: int = Field(128, ge=8)
    """Longest input in pieces, special ones included; what is longer is cut off at its end."""
    cache: str = ""
    """Folder of prepared texts; default: the user's cache folder."""

    _class_names = field_validator("class_names")(distinct)


class TrainingSettings(Base):
    """How the weights are found."""

    layer_decay: float = Field(1.0, gt=0, le=1)
    """Layer-wise rates: each layer learns at this part of the rate of the one above it, so that the lowest
    ones, which know most already, change least (Howard and Ruder 2018, sec. 3.2); 1: all the same."""


class ValidationSettings(ValidationSchedule):
    """How a run is watched, and when it stops."""

    metric: Literal["accuracy", "f1", "loss"] = "accuracy"
    """What "best" means; f1 is the mean over classes, loss the negative log-likelihood a text."""
    max_texts: PositiveInt = 10_000
    """Validate on at most so many texts."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": TokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}
"""The sections of a recipe, besides the model's own."""
