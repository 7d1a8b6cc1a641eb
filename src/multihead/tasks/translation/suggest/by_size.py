"""Settings by the number of pairs alone, and the sizes of models for corpora of each order of magnitude.

The smaller the corpus, the smaller the vocabulary and the model, and the higher the dropout (Sennrich and
Zhang 2019; Araabi and Monz 2020). Up to 80,000 pairs, Muon gave better models than Adam. For the next size,
its first 600 updates were far ahead (docs/measured/quality.md). Larger sizes were not measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from multihead.data.pairs import read_pairs
from multihead.recipe.settings import DataSettings
from multihead.text.pieces import MAX_PIECE_CHARS, alphabet, count, normalizer, script_pre_tokenizer


@dataclass(frozen=True, slots=True)
class Size:
    """Settings for corpora of up to ``pairs`` pairs."""

    pairs: float
    vocab_size: int
    bpe_dropout: float
    d_model: int
    d_ff: int
    num_layers: int
    num_heads: int
    dropout: float
    optimizer: Literal["adam", "muon"]
    learning_rate: float
    """Learning rate of Adam."""
    epochs: int


SIZES = (
    Size(10_000, 2_000, 0.1, 128, 256, 3, 4, 0.3, "muon", 3e-3, 80),
    Size(80_000, 6_000, 0.1, 128, 256, 4, 4, 0.2, "muon", 4e-3, 60),
    Size(400_000, 8_000, 0.1, 256, 1024, 4, 4, 0.2, "muon", 2e-3, 25),
    Size(3_000_000, 16_000, 0.0, 512, 1024, 6, 8, 0.1, "adam", 1e-3, 12),
    Size(float("inf"), 32_000, 0.0, 512, 2048, 6, 8, 0.1, "adam", 1e-3, 8),
)

MUON_RATE_FACTOR = 2.0
"""Learning rate of Muon relative to that of Adam."""

OTHER_MODELS_RATE_FACTOR = 0.5
"""Learning rate of the models before the Transformer, relative to that of the Transformer."""

MAX_WORDS = 50_000
"""Limit of counted words; larger than the largest vocabulary."""

CONTROL, CONTROL_AND_BYTES = 4, 260
"""Tokens in every vocabulary: control symbols, and all bytes except for WordPiece and whole words."""

CHARS_PER_TOKEN = 4.0
"""Characters per token for alphabetic scripts at these vocabulary sizes; affects only the number of steps."""


@dataclass(frozen=True, slots=True)
class CorpusSize:
    """The size of a corpus.

    Attributes:
        pairs: number of sentence pairs.
        target_characters: number of characters on the target side.
        characters: number of distinct characters on both sides, without very rare ones.
        words: number of distinct words on both sides, or parts of words, that could be one token of two or
            more characters; counted up to about ``MAX_WORDS``.
    """

    pairs: int
    target_characters: int
    characters: int
    words: int


def measure_corpus(data: DataSettings) -> CorpusSize:
    """Measure a corpus by reading its training files once.

    Raises:
        UserError: see ``data.pairs.read_pairs``.
    """
    pairs = characters = 0
    normal = normalizer(data.lowercase)
    words: set[str] = set()
    for source, target in read_pairs(data, data.source, data.target):
        pairs += 1
        characters += len(target)
        if len(words) < MAX_WORDS:
            for text in (source, target):
                words.update(normal.normalize_str(text).split(" "))
    parts = count(words, script_pre_tokenizer(split_digits=False))
    longer = sum(1 < len(part) <= MAX_PIECE_CHARS for part in parts)
    return CorpusSize(pairs, characters, len(alphabet(words)), longer)


def suggest_settings(
    corpus: CorpusSize,
    steps: int | None = None,
    optimizer: str | None = None,
    kind: str = "transformer",
    *,
    tokenizer: str = "bpe",
) -> Mapping[str, object]:
    """Return suitable settings for a corpus, by dotted key.

    Args:
        corpus: size of the corpus.
        steps: number of updates; None: chosen by the size.
        optimizer: the optimiser; None: chosen by the size.
        kind: model kind.
        tokenizer: ``tokenizer.kind``; for tokenizers from files "bpe" if they support BPE-dropout.
    """
    size = next(size for size in SIZES if corpus.pairs <= size.pairs)
    batch_tokens = 2048 if corpus.pairs < 5_000 else 4096
    tokens = corpus.pairs + corpus.target_characters / CHARS_PER_TOKEN
    epoch = max(1, round(tokens / batch_tokens))
    steps = steps or max(500, round(size.epochs * epoch, -2))
    optimizer = optimizer or (size.optimizer if kind == "transformer" else "adam")
    rate = size.learning_rate * (MUON_RATE_FACTOR if optimizer == "muon" else 1)
    every = max(min(50, steps), min(2 * epoch, steps // 10))
    return {
        "tokenizer.vocab_size": _vocab_size(size, corpus, tokenizer),
        "tokenizer.dropout": size.bpe_dropout if tokenizer == "bpe" else 0.0,
        **{f"model.{key}": value for key, value in _model(size, kind).items()},
        "training.steps": steps,
        "training.batch_tokens": batch_tokens,
        "training.optimizer": optimizer,
        "training.schedule": "cosine",
        "training.learning_rate": rate * (1 if kind == "transformer" else OTHER_MODELS_RATE_FACTOR),
        "training.warmup_steps": min(1000, steps // 10),
        "training.average": 5,
        "validation.every": every,
        "validation.patience": 10,
    }


def _model(size: Size, kind: str) -> dict[str, object]:
    """Return the settings of a model of this kind with about as many parameters as the Transformer."""
    if kind == "transformer":
        heads = {"num_layers": size.num_layers, "num_heads": size.num_heads}
        widths = {"d_model": size.d_model, "d_ff": size.d_ff}
        return {**widths, **heads, "dropout": size.dropout, "norm": "pre"}
    return model_settings(kind, size.d_model, size.num_layers, size.dropout)


def model_settings(kind: str, width: int, num_layers: int, dropout: float) -> dict[str, object]:
    """Return the settings of a model other than the Transformer; {} for an unknown kind.

    Widths relative to the Transformer's are those of the Multi30k recipes (`multihead sweep ladder`), where
    every model has 2.1 M parameters.

    Args:
        kind: model kind.
        width: ``d_model`` of the Transformer.
        num_layers: number of layers of the Transformer.
        dropout: dropout of the Transformer.
    """
    common = {"d_embedding": width, "tied": "all", "label_smoothing": 0.1}
    recurrent = {**common, "dropout": dropout + 0.1}
    match kind:
        case "seq2seq":
            return {**recurrent, "d_hidden": 13 * width // 8, "num_layers": 2}
        case "rnn_attention":
            return {**recurrent, "d_hidden": 2 * width, "d_encoder": 3 * width // 2}
        case "conv_s2s":
            return {**common, "dropout": dropout, "d_hidden": width, "num_layers": num_layers + 1}
        case _:
            return {}


def _vocab_size(size: Size, corpus: CorpusSize, tokenizer: str) -> int:
    """Return a vocabulary size that covers every character and that the corpus can fill.

    At most half of the words become tokens: some words are held out for validation, and if all words were
    tokens, nothing would be learned from their parts. Scripts with many characters get additional tokens for
    words. A vocabulary of whole words may have as many words as the size's limit.
    """
    if tokenizer in ("words", "spaced"):
        return size.vocab_size
    letters = (CONTROL if tokenizer == "wordpiece" else CONTROL_AND_BYTES) + corpus.characters
    room = max(size.vocab_size - letters, size.vocab_size // 2)
    return letters + min(room, corpus.words // 2)
