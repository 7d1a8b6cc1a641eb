"""Settings of language modelling."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt

from multihead.recipe.settings.base import Settings
from multihead.recipe.settings.training import TrainingSettings, ValidationSchedule


class DataSettings(Settings):
    """Training text."""

    dir: str = "."
    """Base folder of the file names below."""
    files: tuple[str, ...] = ()
    """Text file(s), plain or compressed, read in this order."""
    valid_files: tuple[str, ...] = ()
    """Validation file(s). Default: hold out the end of the text."""
    valid_fraction: float = Field(0.1, gt=0, lt=1)
    """Fraction of the text, at its end, held out for validation by default."""
    documents: Literal["file", "line"] = "file"
    """Documents: whole files, or single lines; an end token separates them."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    cache: str = ""
    """Folder of prepared data; default: the user's cache folder."""


class TokenizerSettings(Settings):
    """Lossless tokenizer, which preserves spaces and line feeds, and its vocabulary."""

    kind: Literal["bpe", "chars"] = "bpe"
    """Tokenizer: byte-level byte-pair encoding, which has no unknown tokens, or characters."""
    vocab_size: PositiveInt = 8000
    """Maximum vocabulary size, special tokens included."""
    min_frequency: PositiveInt = 2
    """Minimum count of a merge (kind "bpe")."""
    sample_size: PositiveInt = 100_000_000
    """Maximum size of the text to train the tokenizer on, in characters, from its beginning."""
    file: str = ""
    """A tokenizer.json to use instead of training one."""


class ValidationSettings(ValidationSchedule):
    """Validation, model selection and early stopping."""

    metric: Literal["loss", "accuracy"] = "loss"
    """Metric that selects the best checkpoint; loss: negative log-likelihood per token."""
    samples: int = Field(2, ge=0)
    """Sample texts generated at every validation."""
    sample_tokens: PositiveInt = 120
    """Length of a sample text in tokens."""
    max_examples: PositiveInt = 1_000_000
    """Maximum size of the validation data, in tokens, sampled evenly from the text."""


class SearchSettings(Settings):
    """Text generation."""

    max_tokens: PositiveInt = 500
    """Maximum number of tokens to generate."""
    temperature: float = Field(0.8, ge=0)
    """Sampling temperature, by which logits are divided; 0: always the most probable token."""
    top_k: int = Field(0, ge=0)
    """Top-k sampling: sample from the k most probable tokens; 0: from all."""
    top_p: PositiveFloat = Field(1.0, le=1)
    """Top-p (nucleus) sampling: sample from the most probable tokens with this total probability; 1: from
    all."""
    seed: int = 1
    """Random seed of sampling."""
    stop: tuple[str, ...] = ()
    """Stop before any of these strings."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": TokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
    "search": SearchSettings,
}
"""The sections of a recipe, except the model's."""
