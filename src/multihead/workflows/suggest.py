"""Sensible settings for a corpus that comes without a recipe.

The sizes follow what works on public corpora of each order of magnitude: the smaller the corpus, the
smaller the vocabulary and the model, and the more dropout (Sennrich and Zhang 2019; Araabi and Monz 2020).
Up to 80,000 pairs Muon gave better models than Adam; for the next size its first 600 updates were far ahead
(docs/measured/quality.md); larger sizes were not measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from multihead.settings import DataSettings
from multihead.text.corpus import read_pairs
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
    """Adam's."""
    epochs: int


SIZES = (
    Size(10_000, 2_000, 0.1, 128, 256, 3, 4, 0.3, "muon", 3e-3, 80),
    Size(80_000, 6_000, 0.1, 128, 256, 4, 4, 0.2, "muon", 4e-3, 60),
    Size(400_000, 8_000, 0.1, 256, 1024, 4, 4, 0.2, "muon", 2e-3, 25),
    Size(3_000_000, 16_000, 0.0, 512, 1024, 6, 8, 0.1, "adam", 1e-3, 12),
    Size(float("inf"), 32_000, 0.0, 512, 2048, 6, 8, 0.1, "adam", 1e-3, 8),
)

MUONS_RATE = 2.0
"""How many times as high as Adam's a rate for Muon is."""

OTHERS_RATE = 0.5
"""How many times as high as a Transformer's the rate of the models before it is."""

MOST_WORDS = 50_000
"""Words counted: more than the largest vocabulary below."""

CONTROL, CONTROL_AND_BYTES = 4, 260
"""Pieces that every vocabulary has: control symbols, and but for WordPiece's and whole words all bytes."""

CHARACTERS_A_PIECE = 4.0
"""Of alphabetic scripts, at these vocabulary sizes; only the number of steps hangs on it."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """How large a corpus is.

    Attributes:
        pairs: its sentence pairs.
        target_characters: the characters of its target side.
        characters: its different characters, both sides, the very rare ones left out.
        words: its different words or parts of words that one piece could stand for, of two characters and
            more, both sides; counted up to about ``MOST_WORDS``.
    """

    pairs: int
    target_characters: int
    characters: int
    words: int


def measure(data: DataSettings) -> Corpus:
    """Read the training files once and count.

    Raises:
        UserError: see ``text.corpus.read_pairs``.
    """
    pairs = characters = 0
    normal = normalizer(data.lowercase)
    words: set[str] = set()
    for source, target in read_pairs(data, data.source, data.target):
        pairs += 1
        characters += len(target)
        if len(words) < MOST_WORDS:
            for text in (source, target):
                words.update(normal.normalize_str(text).split(" "))
    parts = count(words, script_pre_tokenizer(split_digits=False))
    longer = sum(1 < len(part) <= MAX_PIECE_CHARS for part in parts)
    return Corpus(pairs, characters, len(alphabet(words)), longer)


def suggest(
    corpus: Corpus,
    steps: int | None = None,
    optimizer: str | None = None,
    kind: str = "transformer",
    *,
    tokenizer: str = "bpe",
) -> Mapping[str, object]:
    """Return settings, by dotted key, that suit a corpus of this size, and these updates if given.

    Args:
        corpus: how large it is.
        steps: the updates that were asked for.
        optimizer: the optimiser that was asked for.
        kind: of model.
        tokenizer: ``tokenizer.kind``; of tokenizers from files "bpe" where BPE-dropout works with them.
    """
    size = next(size for size in SIZES if corpus.pairs <= size.pairs)
    batch_tokens = 2048 if corpus.pairs < 5_000 else 4096
    tokens = corpus.pairs + corpus.target_characters / CHARACTERS_A_PIECE
    epoch = max(1, round(tokens / batch_tokens))
    steps = steps or max(500, round(size.epochs * epoch, -2))
    optimizer = optimizer or (size.optimizer if kind == "transformer" else "adam")
    rate = size.learning_rate * (MUONS_RATE if optimizer == "muon" else 1)
    every = max(min(50, steps), min(2 * epoch, steps // 10))
    return {
        "tokenizer.vocab_size": _vocab_size(size, corpus, tokenizer),
        "tokenizer.dropout": size.bpe_dropout if tokenizer == "bpe" else 0.0,
        **{f"model.{key}": value for key, value in _model(size, kind).items()},
        "training.steps": steps,
        "training.batch_tokens": batch_tokens,
        "training.optimizer": optimizer,
        "training.schedule": "cosine",
        "training.learning_rate": rate * (1 if kind == "transformer" else OTHERS_RATE),
        "training.warmup_steps": min(1000, steps // 10),
        "training.average": 5,
        "validation.every": every,
        "validation.patience": 10,
    }


def _model(size: Size, kind: str) -> dict[str, object]:
    """Return the settings of a model of this kind with about as many parameters as the Transformer has."""
    if kind == "transformer":
        heads = {"num_layers": size.num_layers, "num_heads": size.num_heads}
        widths = {"d_model": size.d_model, "d_ff": size.d_ff}
        return {**widths, **heads, "dropout": size.dropout, "norm": "pre"}
    return model_settings(kind, size.d_model, size.num_layers, size.dropout)


def model_settings(kind: str, width: int, num_layers: int, dropout: float) -> dict[str, object]:
    """Return the settings of another model than the Transformer; {} for a kind unknown here.

    What is wider than the Transformer, and by how much, is as in the recipes of Multi30k (`multihead sweep
    ladder`), where each has 2.1 M parameters.

    Args:
        kind: of model.
        width: the Transformer's ``d_model``.
        num_layers: the Transformer's.
        dropout: the Transformer's.
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


def _vocab_size(size: Size, corpus: Corpus, tokenizer: str) -> int:
    """Return a vocabulary that holds every character, and no more pieces than the corpus can fill.

    Every word can become a piece; half of them are counted on, for some are held out, and where all words are
    pieces nothing is learned from their parts. Scripts of many characters get room for words beside them. A
    vocabulary of whole words has all of them, up to the size's limit.
    """
    if tokenizer in ("words", "spaced"):
        return size.vocab_size
    letters = (CONTROL if tokenizer == "wordpiece" else CONTROL_AND_BYTES) + corpus.characters
    room = max(size.vocab_size - letters, size.vocab_size // 2)
    return letters + min(room, corpus.words // 2)
