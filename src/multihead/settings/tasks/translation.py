"""What can be set of a translator: text in, text out."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt

from multihead.settings.base import Settings
from multihead.settings.training import TrainingSettings, ValidationSchedule

USE = "translate {run}"
"""The command that uses a trained run."""
WORK = "translating"
"""What a trained run is good for."""


class DataSettings(Settings):
    """Where the sentence pairs come from, and which of them are fit for training."""

    dir: str = "."
    """Folder that the file names below are relative to."""
    source: tuple[str, ...] = ()
    """Training file(s), source side; or TSV / JSONL files that hold both sides. "-" is standard input."""
    target: tuple[str, ...] = ()
    """Training file(s), target side, line by line with the source; empty for TSV and JSONL."""
    valid_source: tuple[str, ...] = ()
    """Validation file(s), source side. Without them a part of the training data is held out."""
    valid_target: tuple[str, ...] = ()
    """Validation file(s), target side."""
    tests: dict[str, tuple[str, ...]] = Field({})
    """Test sets for `multihead evaluate`: name = ["source file", "target file"] (or one TSV / JSONL file)."""
    source_language: str = ""
    """For display, e.g. "de"."""
    target_language: str = ""
    """For display, e.g. "en"."""
    format: Literal["auto", "lines", "tsv", "jsonl"] = "auto"
    """How files are read; "auto" goes by the name (.tsv, .jsonl; lines otherwise)."""
    source_field: str = ""
    """Source of a TSV file: the column's number, from 1, or its name in a heading line, which is then no
    pair; of a JSONL file the key ("translation.de" of an object in an object). Default: column 1, key
    "source"."""
    target_field: str = ""
    """Target, likewise; default column 2, key "target"."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    lowercase: bool = False
    """Lower-case all text, in training and later."""
    valid_fraction: float = Field(0.01, gt=0, lt=1)
    """Part of the training pairs held out for validation where no file is named (50 to 2,000 pairs)."""
    seed: int = 1
    """Chooses what is held out; trainings that differ in training.seed alone hold out the same."""
    max_chars: PositiveInt = 5000
    """Drop pairs with a longer side, in characters."""
    max_length: PositiveInt = 256
    """Drop pairs with a longer side, in pieces (subwords)."""
    max_length_ratio: float = Field(9.0, ge=1)
    """Drop pairs whose sides differ more in length, in characters (both + 10, so that short ones pass)."""
    drop_duplicates: bool = True
    """Drop a pair that occurred before."""
    drop_identical: bool = False
    """Drop pairs whose source and target are the same text."""
    max_pairs: int = Field(0, ge=0)
    """Train on at most so many pairs, spread over the corpus; 0: on all."""
    cache: str = ""
    """Folder of token stores; default: the user's cache folder."""


class TokenizerSettings(Settings):
    """How text is cut into pieces."""

    kind: Literal["bpe", "unigram", "wordpiece", "chars", "words", "spaced"] = "bpe"
    """Kind of pieces; words: whole words and single punctuation marks; spaced: what stands between spaces in
    text that was cut before, see `multihead tokenise`."""
    vocab_size: PositiveInt = 8000
    """Most pieces in a vocabulary, special symbols included."""
    joint: bool = True
    """One vocabulary for both sides (needed for tied embeddings of both)."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """BPE-dropout in training (Provilkov et al. 2020): chance that a merge is left out; try 0.1."""
    min_frequency: PositiveInt = 1
    """Leave out words (kinds "words" and "spaced") or merges (kind "bpe") seen less often."""
    sample_pairs: PositiveInt = 1_000_000
    """Train the tokenizer on at most this many pairs, spread over the corpus."""
    split_digits: bool = False
    """Keep every digit a piece of its own."""
    file: str = ""
    """A tokenizer.json to use instead of training one (source side, or both when joint)."""
    target_file: str = ""
    """A tokenizer.json for the target side."""


class ValidationSettings(ValidationSchedule):
    """How a run is watched, and when it stops."""

    metric: Literal["bleu", "chrf", "loss"] = "bleu"
    """What "best" means; loss is the negative log-likelihood a token, without smoothing."""
    samples: int = Field(5, ge=0)
    """Translations shown at every validation."""
    max_pairs: PositiveInt = 2000
    """Validate on at most so many pairs."""


class SearchSettings(Settings):
    """How a translation is looked for."""

    method: Literal["beam", "greedy", "sample"] = "beam"
    """Beam search, greedy search, or random samples."""
    beam_size: PositiveInt = 5
    """Hypotheses kept for each sentence."""
    length_penalty: float = Field(0.6, ge=-10, le=10, allow_inf_nan=False)
    """alpha in ((5 + |Y|) / 6)^alpha (Wu et al. 2016, eq. 14; 0.6 as in Vaswani et al. 2017); 0: none."""
    stop: Literal["exact", "first"] = "first"
    """When a beam search is over. exact: when nothing better can come; first: when as many hypotheses have
    ended as the beam holds, as in most toolkits. Measured once, on test_2016_flickr with one model: first was
    1.4 times as fast, 10 of 1,000 outputs differed, BLEU was 37.778 (exact: 37.775)."""
    n_best: PositiveInt = 1
    """Outputs returned for each sentence; of a beam as many as differ in their text."""
    max_extra: int = Field(50, ge=0)
    """Longest output: the source's length plus this many pieces (sec. 6.1)."""
    max_length: int = Field(0, ge=0)
    """Longest output in pieces whatever the source; 0: max_extra rules."""
    min_length: int = Field(0, ge=0)
    """Shortest output in pieces."""
    no_repeat_ngram: int = Field(0, ge=0)
    """No n-gram of this size occurs twice in an output; 0: allowed."""
    temperature: PositiveFloat = 1.0
    """Sampling: scores are divided by it."""
    top_k: int = Field(0, ge=0)
    """Sampling: only the k likeliest pieces; 0: all."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Sampling: only the likeliest pieces that make up this probability."""
    seed: int = 1
    """Sampling: the same seed gives the same samples."""
    batch_tokens: PositiveInt = 4096
    """Source pieces searched at once (times the beam)."""
    replace_unknown: bool = True
    """Put the most attended source word in the place of an unknown piece."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": TokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
    "search": SearchSettings,
}
"""The sections of a recipe, besides the model's own."""
