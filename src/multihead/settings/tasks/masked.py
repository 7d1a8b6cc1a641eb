"""What can be set of a model that fills gaps in text."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveInt

from multihead.settings.base import Settings
from multihead.settings.training import TrainingSettings, ValidationSchedule

USE = 'fill {run} "... [MASK] ..."'
"""The command that uses a trained run."""
WORK = "filling gaps in texts"
"""What a trained run is good for."""


class DataSettings(Settings):
    """Where the texts come from, one a line."""

    dir: str = "."
    """Folder that the file names below are relative to."""
    files: tuple[str, ...] = ()
    """Text file(s), plain or compressed: a text a line, or TSV with a heading line, see text_field."""
    valid_files: tuple[str, ...] = ()
    """Text file(s) to validate on. Without them a part of the texts is held out."""
    valid_fraction: float = Field(0.01, gt=0, lt=1)
    """Part of the texts held out for validation where no file is named; equal texts stay together."""
    seed: int = 1
    """Chooses what is held out; trainings that differ in training.seed alone hold out the same."""
    text_field: str = ""
    """Heading of the column with the text: a file with it in its first line is TSV, any other plain lines."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    lowercase: bool = False
    """Lower-case all text, in training and later."""
    max_length: int = Field(128, ge=8)
    """Longest input in pieces, special ones included; what is longer is cut off at its end."""
    next_sentence: bool = True
    """Ask also whether the second part of an input goes on with the first, or comes from another text."""
    masked: float = Field(0.15, gt=0, lt=1)
    """Part of the pieces that are to be guessed (Devlin et al. 2019, sec. 3.1)."""
    cache: str = ""
    """Folder of prepared texts; default: the user's cache folder."""


class TokenizerSettings(Settings):
    """How text is cut into pieces."""

    kind: Literal["wordpiece", "unigram", "bpe", "chars"] = "wordpiece"
    """Kind of pieces."""
    vocab_size: PositiveInt = 30_000
    """Most pieces in a vocabulary, special symbols included."""
    min_frequency: PositiveInt = 1
    """Leave out merges seen less often."""
    sample_texts: PositiveInt = 1_000_000
    """Learn the vocabulary from at most this many texts, the first ones."""
    split_digits: bool = False
    """Keep every digit a piece of its own."""
    file: str = ""
    """A tokenizer.json to use instead of learning one; a run folder's, so that its [MASK] is there."""


class ValidationSettings(ValidationSchedule):
    """How a run is watched, and when it stops."""

    metric: Literal["loss", "accuracy"] = "loss"
    """What "best" means; loss is the negative log-likelihood a masked piece."""
    samples: int = Field(3, ge=0)
    """Texts shown with their gaps filled at every validation."""
    max_texts: PositiveInt = 5000
    """Validate on at most so many texts."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": TokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}
"""The sections of a recipe, besides the model's own."""
