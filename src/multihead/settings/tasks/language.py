"""What can be set of a language model: text that goes on."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt

from multihead.settings.base import Settings
from multihead.settings.training import TrainingSettings, ValidationSchedule

USE = 'generate {run} --prompt "..."'
"""The command that uses a trained run."""
WORK = "writing texts"
"""What a trained run is good for."""


class DataSettings(Settings):
    """Where the text comes from."""

    dir: str = "."
    """Folder that the file names below are relative to."""
    files: tuple[str, ...] = ()
    """Text file(s), plain or compressed, read in this order."""
    valid_files: tuple[str, ...] = ()
    """Text file(s) to validate on. Without them the end of the text is held out."""
    valid_fraction: float = Field(0.1, gt=0, lt=1)
    """Part of the text, from its end, held out for validation where no file is named."""
    documents: Literal["file", "line"] = "file"
    """What a document is: each file, or each line; the end symbol stands between two."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    cache: str = ""
    """Folder of prepared text; default: the user's cache folder."""


class TokenizerSettings(Settings):
    """How text is cut into tokens; nothing of it is lost, spaces and line feeds included."""

    kind: Literal["bpe", "chars"] = "bpe"
    """Byte-pair encoding of bytes, to which nothing is unknown, or characters."""
    vocab_size: PositiveInt = 8000
    """Most tokens in a vocabulary, special symbols included."""
    min_frequency: PositiveInt = 2
    """Leave out merges (kind "bpe") seen less often."""
    sample_chars: PositiveInt = 100_000_000
    """Learn the vocabulary from at most this many characters, from the text's beginning."""
    file: str = ""
    """A tokenizer.json to use instead of learning one."""


class ValidationSettings(ValidationSchedule):
    """How a run is watched, and when it stops."""

    metric: Literal["loss", "accuracy"] = "loss"
    """What "best" means; loss is the negative log-likelihood a token."""
    samples: int = Field(2, ge=0)
    """Texts written at every validation."""
    sample_tokens: PositiveInt = 120
    """Their length."""
    max_tokens: PositiveInt = 1_000_000
    """Validate on at most so many tokens, spread over the text."""


class SearchSettings(Settings):
    """How a text is gone on with."""

    max_tokens: PositiveInt = 500
    """Tokens written at most."""
    temperature: float = Field(0.8, ge=0)
    """Scores are divided by it; 0: always the likeliest token."""
    top_k: int = Field(0, ge=0)
    """Only the k likeliest tokens; 0: all."""
    top_p: PositiveFloat = Field(1.0, le=1)
    """Only the likeliest tokens that make up this probability."""
    seed: int = 1
    """The same seed gives the same text."""
    stop: tuple[str, ...] = ()
    """Stop before any of these texts would be written."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": TokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
    "search": SearchSettings,
}
"""The sections of a recipe, besides the model's own."""
