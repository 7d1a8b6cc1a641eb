"""Settings of masked language modelling."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveInt

from multihead.recipe.settings.base import Settings
from multihead.recipe.settings.training import TrainingSettings, ValidationSchedule


class DataSettings(Settings):
    """Training texts, one a line."""

    dir: str = "."
    """Base folder of the file names below."""
    files: tuple[str, ...] = ()
    """Text file(s), plain or compressed: one text a line, or TSV with a header, see text_field."""
    valid_files: tuple[str, ...] = ()
    """Validation file(s). Default: hold out part of the texts."""
    valid_fraction: float = Field(0.01, gt=0, lt=1)
    """Fraction of the texts held out for validation by default, 20 at least (of a few, a fifth); equal texts
    stay together."""
    seed: int = 1
    """Seeds the choice of validation data, independently of training.seed."""
    text_field: str = ""
    """Name of the text column. A file whose first line has it is read as TSV, any other as plain lines."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    lowercase: bool = False
    """Lower-case all text, in training and in use."""
    max_length: int = Field(128, ge=8)
    """Maximum input length in tokens, special tokens included; longer texts are truncated."""
    next_sentence: bool = True
    """Train on next-sentence prediction too: whether the second segment follows the first or comes from
    another text."""
    masked: float = Field(0.15, gt=0, lt=1)
    """Fraction of the tokens to predict (Devlin et al. 2019, sec. 3.1)."""
    cache: str = ""
    """Folder of prepared data; default: the user's cache folder."""


class TokenizerSettings(Settings):
    """Tokenizer and vocabulary."""

    kind: Literal["wordpiece", "unigram", "bpe", "chars"] = "wordpiece"
    """Tokenizer: subwords, or characters."""
    vocab_size: PositiveInt = 30_000
    """Maximum vocabulary size, special tokens included."""
    min_frequency: PositiveInt = 1
    """Minimum count of a merge to enter the vocabulary."""
    sample_size: PositiveInt = 1_000_000
    """Maximum number of texts to train the tokenizer on, from the beginning."""
    split_digits: bool = False
    """Make every digit a token of its own."""
    file: str = ""
    """A tokenizer.json to use instead of training one; [MASK] is added if it is missing."""


class LabelledTokenizerSettings(TokenizerSettings):
    """Tokenizer and vocabulary."""

    dropout: float = Field(0.0, ge=0, lt=1)
    """BPE-dropout: probability of skipping a merge in training (kind = "bpe"; Provilkov et al. 2020); 0:
    none."""


class ValidationSettings(ValidationSchedule):
    """Validation, model selection and early stopping."""

    metric: Literal["loss", "accuracy"] = "loss"
    """Metric that selects the best checkpoint; loss: negative log-likelihood per masked token."""
    samples: int = Field(3, ge=0)
    """Sample texts with filled masks logged at every validation."""
    max_examples: PositiveInt = 5000
    """Maximum number of validation texts."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": TokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
}
"""The sections of a recipe, except the model's."""
