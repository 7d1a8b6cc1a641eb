"""Settings of tagging."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveInt

from multihead.recipe.settings.base import Settings
from multihead.recipe.settings.training import TrainingSettings, ValidationSchedule
from multihead.tasks.masked.settings import LabelledTokenizerSettings


class DataSettings(Settings):
    """Sentences with a tag for each word, in CoNLL's columns."""

    dir: str = "."
    """Base folder of the file names below."""
    files: tuple[str, ...] = ()
    """Training file(s), plain or compressed: a word and its tag on each line, an empty line after each
    sentence."""
    valid_files: tuple[str, ...] = ()
    """Validation file(s). Default: hold out part of the sentences."""
    tests: dict[str, tuple[str, ...]] = Field({})
    """Test sets for `multihead evaluate RUN`: name = ["file", ...]."""
    generate: Literal["", "reversal", "sorting"] = ""
    """Sequences of random digits that multihead generates, in place of files. The tags are the digits in
    reverse, or in ascending order."""
    generated: PositiveInt = 50_000
    """Number of generated sequences."""
    generated_tests: PositiveInt = 10_000
    """Number of sequences in the generated test set, whose seed is fixed."""
    length: PositiveInt = 16
    """Length of the generated sequences."""
    word_column: int = 1
    """Column of the words in the files, from 1; negative numbers count from the last column, -1."""
    tag_column: int = -1
    """Column of the tags in the files, likewise."""
    valid_fraction: float = Field(0.05, gt=0, lt=1)
    """Fraction of the sentences held out for validation by default, 20 at least (of a few, a fifth); equal
    sentences stay together."""
    seed: int = 1
    """Seeds the choice of validation data and the generated sequences, independently of training.seed."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    lowercase: bool = False
    """Lower-case all words, in training and in use."""
    max_length: int = Field(128, ge=8)
    """Maximum input length in tokens, special tokens included. Longer sentences are truncated in training,
    and tagged in parts in use."""


class ValidationSettings(ValidationSchedule):
    """Validation, model selection and early stopping."""

    metric: Literal["accuracy", "exact", "f1", "loss"] = "accuracy"
    """Metric that selects the best checkpoint; accuracy: share of right tags; exact: share of sentences
    without a wrong tag; f1: of labelled spans where all tags are O, B-LABEL or I-LABEL, else macro-averaged
    over the tags; loss: negative log-likelihood per tag."""
    max_examples: PositiveInt = 5000
    """Maximum number of validation sentences."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": LabelledTokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}
"""The sections of a recipe, except the model's."""
