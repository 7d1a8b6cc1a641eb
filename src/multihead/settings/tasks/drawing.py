"""What can be set of a model that draws pictures for captions."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from multihead.settings.base import Settings
from multihead.settings.training import OptimisationSettings, ValidationSchedule

USE = 'draw {run} "..." -n 8 -o grid.png'
"""The command that uses a trained run."""
WORK = "drawing pictures"
"""What a trained run is good for."""
SPEED_UNIT = "pictures"
"""What the speed of training is told in."""


class DataSettings(Settings):
    """Where pictures and their captions come from."""

    dir: str = "."
    """Folder that the names below are relative to."""
    captions: str = ""
    """List of pictures: a CSV or TSV file whose first line names the columns file and caption."""
    pictures: str = ""
    """Folder or .zip file in which the pictures lie; default: the list's folder."""
    generate: Literal["", "shapes"] = ""
    """Captioned pictures that the package draws itself, in place of files."""
    train_fraction: float = Field(0.9, gt=0, lt=1)
    """Part of the pictures that is trained on; the captions of the others are never seen in training."""
    seed: int = 1
    """Chooses which; trainings that differ in training.seed alone are trained on the same."""
    picture_size: NonNegativeInt = 0
    """Height and width that pictures are brought to; 0: the first one's shorter side."""
    channels: Literal["auto", "grey", "colour"] = "auto"
    """Bring pictures to one channel or to three; "auto": as the first one is."""
    cache: str = ""
    """Folder of prepared pictures; default: the user's cache folder."""


class TokenizerSettings(Settings):
    """How captions are cut into tokens."""

    kind: Literal["words", "bpe", "chars"] = "words"
    """Whole words, byte-pair encoding, or characters."""
    vocab_size: PositiveInt = 2000
    """Most tokens in a vocabulary, special symbols included."""


class TrainingSettings(OptimisationSettings):
    """How the weights are found."""

    batch_pictures: PositiveInt = 64
    """Pictures a batch."""


class ValidationSettings(ValidationSchedule):
    """How a run is watched, and when it stops."""

    metric: Literal["exact", "accuracy"] = "exact"
    """What "best" means: the share of codes that are right in pictures drawn for unseen captions, or of those
    guessed with the right ones before them."""
    max_pictures: PositiveInt = 500
    """Validate on at most so many pictures."""
    drawn: PositiveInt = 64
    """Draw at most so many of them."""


class SearchSettings(Settings):
    """How a picture is drawn."""

    temperature: float = Field(1.0, ge=0)
    """Scores are divided by it; 0: always the likeliest code."""
    top_k: int = Field(0, ge=0)
    """Only the k likeliest codes; 0: all."""
    top_p: PositiveFloat = Field(1.0, le=1)
    """Only the likeliest codes that make up this probability."""
    guidance: float = Field(1.0, ge=0)
    """Classifier-free guidance: scores move away from those without a caption by this factor (Ho and Salimans
    2022); 1: none."""
    candidates: NonNegativeInt = 0
    """Draw so many pictures, and keep of them those that the ranker finds fittest; 0: as many as wanted."""
    seed: int = 1
    """The same seed gives the same pictures."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": TokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
    "search": SearchSettings,
}
"""The sections of a recipe, besides the model's own."""
