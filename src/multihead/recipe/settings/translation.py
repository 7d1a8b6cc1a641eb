"""Settings of translation."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from multihead.recipe.settings.base import Settings
from multihead.recipe.settings.training import TrainingSettings, ValidationSchedule

TextFormat = Literal["lines", "tsv", "csv", "jsonl", "wmt", "parquet", "arrow"]
DocumentFormat = Literal["tmx", "xliff", "po", "qt", "xcstrings", "subtitles"]
FileFormat = Literal["auto", TextFormat, DocumentFormat]
"""Formats of parallel corpora; ``text.corpus`` names their readers."""


class DataSettings(Settings):
    """Parallel corpus, and the cleaning of its sentence pairs."""

    dir: str = "."
    """Base folder of the file names below."""
    source: tuple[str, ...] = ()
    """Training file(s), source side, or files with both sides (TSV, CSV, JSONL, TMX, XLIFF, PO); "-" is
    standard input."""
    target: tuple[str, ...] = ()
    """Training file(s), target side, aligned with the source line by line, or subtitles of the same film;
    empty for files with both sides."""
    valid_source: tuple[str, ...] = ()
    """Validation file(s), source side. Default: hold out part of the training data."""
    valid_target: tuple[str, ...] = ()
    """Validation file(s), target side."""
    tests: dict[str, tuple[str, ...]] = Field({})
    """Test sets for `multihead evaluate`: name = ["source file", "target file"] or a file with both sides."""
    corpora: str = ""
    """A corpora.toml in place of the files above: several corpora, languages and directions in one model
    (docs/how-to/languages.md)."""
    corpus: dict[str, tuple[str, ...]] = Field({})
    """Corpora without such a file: de-en = ["train.de", "train.en"] (or one TSV, CSV or JSONL file)."""
    both_directions: bool = False
    """Train in both directions of each corpus, unless the corpus sets this itself."""
    temperature: float = Field(1.0, ge=1, le=100)
    """Sampling of several corpora: each is drawn in proportion to weight * pairs^(1/temperature). 1: by
    size; 5: small corpora are repeated; 100: in nearly equal shares."""
    source_language: str = ""
    """Source language, e.g. "de": selects the languages of a TMX file; otherwise for display."""
    target_language: str = ""
    """Target language, e.g. "en", likewise; also for `multihead evaluate --tokenise`."""
    synthetic: tuple[str, ...] = ()
    """Folder(s) of `multihead synthesise`: back-translated pairs, trained on beside the corpus with the tag
    <bt> before each source."""
    synthetic_weight: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Sampling weight relative to a corpus pair; 0: automatic, at most two thirds of an epoch."""
    copied: tuple[str, ...] = ()
    """Text file(s) in the target language, trained on as source and target with the tag <copy>."""
    copied_weight: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Sampling weight relative to a corpus pair; 0: automatic, at most as many pairs as the corpus has."""
    corrections: tuple[str, ...] = ()
    """File(s) of corrected pairs (TSV, CSV, JSONL, TMX, XLIFF, PO). Pairs of the corpus with the same source
    are dropped."""
    corrections_weight: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Sampling weight relative to a corpus pair; 0: automatic, a tenth of the corpus, at most 16."""
    format: FileFormat = "auto"
    """File format; "auto": by file name (docs/start/your-corpus.md), else one sentence a line; "qt" is a .ts
    file of Qt Linguist."""
    source_field: str = ""
    """Source column of a TSV or CSV file: its number, from 1, or its name in the header, the first line; or
    source key of a JSONL file ("translation.de" for a nested object). Default: by the languages and the
    header, else column 1, key "source"."""
    target_field: str = ""
    """Target column or key, likewise; else column 2, key "target"."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    lowercase: bool = False
    """Lower-case all text, in training and in use."""
    valid_fraction: float = Field(0.01, gt=0, lt=1)
    """Fraction of the training pairs held out for validation by default (50 to 2,000 pairs)."""
    seed: int = 1
    """Seeds the choice of validation data, independently of training.seed."""
    max_chars: PositiveInt = 5000
    """Maximum length of either side in characters; longer pairs are dropped."""
    max_length: PositiveInt = 256
    """Maximum length of either side in tokens; longer pairs are dropped."""
    max_length_ratio: float = Field(9.0, ge=1)
    """Maximum ratio of the two lengths in characters (10 added to both, which spares short pairs); other
    pairs are dropped."""
    drop_duplicates: bool = True
    """Drop repeated pairs."""
    drop_identical: bool = False
    """Drop pairs with identical source and target."""
    max_pairs: int = Field(0, ge=0)
    """Maximum number of training pairs, sampled evenly from the corpus; 0: all."""
    processes: PositiveInt = 1
    """Processes that encode the corpus; the prepared data is the same, byte for byte."""
    cache: str = ""
    """Folder of prepared data; default: the user's cache folder."""


class TokenizerSettings(Settings):
    """Tokenizer and vocabulary."""

    kind: Literal["bpe", "unigram", "wordpiece", "chars", "words", "spaced"] = "bpe"
    """Tokenizer. bpe, unigram, wordpiece: subwords; chars: characters; words: whole words and single
    punctuation marks; spaced: white-space tokens of text tokenised before, see `multihead tokenise`."""
    target_kind: Literal["same", "bpe", "unigram", "wordpiece", "chars", "words", "spaced"] = "same"
    """Tokenizer of the target side; a kind different from the source's requires joint = false."""
    vocab_size: PositiveInt = 8000
    """Maximum vocabulary size, special tokens included."""
    target_vocab_size: int = Field(0, ge=0)
    """Maximum vocabulary size of the target side; 0: vocab_size. A size different from vocab_size requires
    joint = false."""
    joint: bool = True
    """One joint vocabulary for both sides (needed to tie the embeddings of both)."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """BPE-dropout in training (Provilkov et al. 2020): probability of skipping a merge; try 0.1. Where the
    kinds of the two sides differ, it applies to the side of kind bpe."""
    min_frequency: PositiveInt = 1
    """Minimum count of a word (kinds "words" and "spaced") or merge (kind "bpe") to enter the vocabulary."""
    sample_size: PositiveInt = 1_000_000
    """Maximum number of pairs to train the tokenizer on, sampled evenly from the corpus."""
    split_digits: bool = False
    """Make every digit a token of its own."""
    apostrophe: Literal["", "'", "’", "ʼ", "ʻ", "`", "´", "′", "＇"] = ""
    """Character that replaces every kind of apostrophe between two letters, so that what users type is what
    training saw; "": each stays as it is."""
    symbols: tuple[str, ...] = ()
    """Reserved symbols (docs/reference/text.md), counted in vocab_size: "standard" for placeholders, inline
    tags and term markers; single ones, as "<2de>" for a language or "<domain-legal>"."""
    symbol_rate: float = Field(0.1, ge=0, le=1)
    """Fraction of the training batches, drawn anew each epoch, in which placeholders and term markers stand
    for words, so that the model learns to carry them (docs/reference/text.md). It needs both in symbols, and
    joint."""
    protect_rate: float = Field(0.7, ge=0, le=1)
    """Fraction of the training pairs, drawn anew each epoch, in which placeholders stand for what search
    carries as such and both sides share: addresses, numbers, and identifiers where the corpus keeps them. It
    needs what symbol_rate needs."""
    phrase_rate: float = Field(0.0, ge=0, le=1)
    """Fraction of the training batches, drawn anew each epoch, whose pairs are cut to phrases of one or more
    words, so that the model translates headings, buttons and cells. Requires what symbol_rate requires."""
    noise_rate: float = Field(0.0, ge=0, le=1)
    """Fraction of the training sources, drawn anew each epoch, that lose their capitals or get typing errors,
    so that the model translates such text (docs/reference/text.md); try 0.2."""
    file: str = ""
    """A tokenizer.json to use instead of training one (source side, or both sides if joint)."""
    target_file: str = ""
    """A tokenizer.json for the target side."""

    @property
    def kinds(self) -> tuple[str, str]:
        """The kinds of the source's and of the target's tokenizer."""
        return self.kind, self.kind if self.target_kind == "same" else self.target_kind

    @property
    def target(self) -> "TokenizerSettings":
        """The settings of the target's tokenizer."""
        size = self.target_vocab_size or self.vocab_size
        changes = {"kind": self.kinds[1], "target_kind": "same", "vocab_size": size, "target_vocab_size": 0}
        changes |= {"apostrophe": ""}  # outputs keep what the corpus writes
        return self.model_copy(update=changes)

    @model_validator(mode="after")
    def _one_kind_if_joint(self) -> "TokenizerSettings":
        for key, value, both in (
            ("target_kind", self.kinds[1], self.kind),
            ("target_vocab_size", self.target_vocab_size or self.vocab_size, self.vocab_size),
        ):
            if self.joint and value != both:
                raise ValueError(
                    f"{key} = {value!r}, but one joint vocabulary serves both sides: set joint to false"
                )
        return self


class ValidationSettings(ValidationSchedule):
    """Validation, model selection and early stopping."""

    metric: Literal["bleu", "chrf", "exact", "wer", "cer", "loss"] = "bleu"
    """Metric that selects the best checkpoint; exact: outputs equal to their reference; wer, cer: word and
    character error rate, for outputs spelt or of symbols between spaces; loss: negative log-likelihood per
    token, without label smoothing."""
    samples: int = Field(5, ge=0)
    """Sample translations logged at every validation."""
    max_examples: PositiveInt = 2000
    """Maximum number of validation pairs."""


class SearchSettings(Settings):
    """Decoding: beam search, greedy search or sampling."""

    method: Literal["beam", "greedy", "sample"] = "beam"
    """Decoding method: beam search, greedy search, or sampling."""
    beam_size: PositiveInt = 5
    """Beam size: hypotheses kept per sentence."""
    length_penalty: float = Field(0.6, ge=-10, le=10, allow_inf_nan=False)
    """Length penalty: alpha in ((5 + |Y|) / 6)^alpha (Wu et al. 2016, eq. 14; 0.6 as in Vaswani et al. 2017);
    0: none."""
    coverage_penalty: float = Field(0.0, ge=0, le=10, allow_inf_nan=False)
    """Coverage penalty: beta in beta sum_i log(min(sum_j p_ij, 1)) (Wu et al. 2016, eq. 14; theirs: 0.2),
    which ranks outputs lower that leave parts of the source unattended; 0: none. Costs a second pass over
    all hypotheses. Exports search without it."""
    stop: Literal["exact", "first"] = "first"
    """When beam search ends. exact: once no unfinished hypothesis can be among the n_best; first: once as
    many hypotheses have finished as the beam holds, as in most toolkits. Measured once, on test_2016_flickr
    with one model: first was 1.4 times as fast, 10 of 1,000 outputs differed, BLEU was 37.778 (exact:
    37.775)."""
    n_best: PositiveInt = 1
    """Outputs per sentence; beam search returns fewer if there are not enough different texts."""
    max_extra: int = Field(50, ge=0)
    """Maximum output length: the source length plus this many tokens (sec. 6.1)."""
    max_length: int = Field(0, ge=0)
    """Maximum output length in tokens, whatever the source; 0: limited by max_extra."""
    min_length: int = Field(0, ge=0)
    """Minimum output length in tokens."""
    no_repeat_ngram: int = Field(0, ge=0)
    """No n-gram of this size may occur twice in an output; 0: no limit."""
    temperature: PositiveFloat = 1.0
    """Sampling temperature, by which logits are divided."""
    top_k: int = Field(0, ge=0)
    """Top-k sampling: sample from the k most probable tokens; 0: from all."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Top-p (nucleus) sampling: sample from the most probable tokens with this total probability; 1: from
    all."""
    seed: int = 1
    """Random seed of sampling."""
    batch_tokens: PositiveInt = 4096
    """Source tokens per decoding batch (the decoder processes beam_size times as many)."""
    replace_unknown: bool = True
    """Replace an unknown token by the source word with the largest attention weight."""


SECTIONS: Mapping[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": TokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
    "search": SearchSettings,
}
"""The sections of a recipe, except the model's."""
