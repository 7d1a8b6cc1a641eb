"""The deterministic steps of tokenizer training: normalisation, pre-tokenisation, counts, BPE merges."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

COVERAGE = 0.9999
"""Character coverage: fraction of the text whose characters become pieces; rarer ones are spelt in bytes."""
BYTES = tuple(f"<0x{value:02X}>" for value in range(256))
"""Byte pieces, which spell any character in UTF-8 (byte fallback); named as in SentencePiece."""
MAX_PIECE_CHARS = 32
"""Maximum length of a merged piece, in characters; longer ones are mostly rows of punctuation."""

STRIP = r"\A | \z"
"""The pattern of the spaces that are stripped from the ends of a text."""

_APART = r"\p{Hangul}\p{Han}\p{Hiragana}\p{Katakana}ー"
"""Scripts that may follow a word of another script without a space."""


APOSTROPHES = "'’ʼʻ`´′＇"
"""Characters used as an apostrophe."""
BETWEEN_LETTERS = rf"(?<=[\p{{L}}\p{{M}}])[{APOSTROPHES}](?=\p{{L}})"
"""The pattern of an apostrophe inside a word; elsewhere it may be a quotation mark."""


def normalizer(lowercase: bool, apostrophe: str = "") -> normalizers.Normalizer:
    """Return the normaliser: optional lower case, NFC, runs of spaces collapsed, ends stripped.

    ``apostrophe`` replaces every apostrophe between letters, unless it is empty.
    """
    return normalizers.Sequence(
        [
            *([normalizers.Lowercase()] if lowercase else []),
            normalizers.NFC(),
            *([normalizers.Replace(Regex(BETWEEN_LETTERS), apostrophe)] if apostrophe else []),
            normalizers.Replace(Regex("[ ▁]+"), " "),
            normalizers.Replace(Regex(STRIP), ""),
        ]
    )


def whitespace_pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    """Return the pre-tokenizer that splits at spaces; "▁" marks the start of a word (SentencePiece)."""
    return pre_tokenizers.Metaspace(prepend_scheme="always", split=True)


def script_pre_tokenizer(split_digits: bool, *, runs: bool = True) -> pre_tokenizers.PreTokenizer:
    """Return the pre-tokenizer that splits at spaces and between letters, digits and punctuation.

    As in SentencePiece, it also splits between Hangul, Han with kana, and all other scripts.

    Args:
        split_digits: make every digit a part of its own.
        runs: keep adjacent punctuation in one part.
    """
    words = [
        r"▁?\p{Hangul}+",
        r"▁?[\p{Han}\p{Hiragana}\p{Katakana}ー]+",
        rf"▁?[[\p{{L}}\p{{M}}]&&[^{_APART}]]+",
        r"\p{N}" if split_digits else r"▁?\p{N}+",
        r"▁?[^\p{L}\p{M}\p{N}▁]" + ("+" if runs else ""),
        "▁",
    ]
    return pre_tokenizers.Sequence(
        [whitespace_pre_tokenizer(), pre_tokenizers.Split(Regex("|".join(words)), "isolated")]
    )


def alphabet(lines: Iterable[str]) -> list[str]:
    """Return the most frequent characters that make up ``COVERAGE`` of the text, sorted by code point."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line)
        counts["▁"] += 1
    counts["▁"] += counts.pop(" ", 0)
    room = (1 - COVERAGE) * counts.total()
    ranked = by_count(counts)
    while len(ranked) > 1 and (room := room - counts[ranked[-1]]) >= 0:
        ranked.pop()
    return sorted(ranked)


def count(lines: Iterable[str], pre_tokenizer: pre_tokenizers.PreTokenizer) -> Counter[str]:
    """Return the count of each part that the pre-tokenizer yields."""
    words = Counter(word for line in lines for word in line.split(" "))
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for part, _ in pre_tokenizer.pre_tokenize_str(word):
            counts[part] += times
    return counts


def by_count(counts: Counter[str]) -> list[str]:
    """Return the strings by falling count, ties by code point."""
    return sorted(counts, key=lambda text: (-counts[text], text))


def bpe_pieces(
    lines: Iterable[str],
    characters: Sequence[str],
    pre_tokenizer: pre_tokenizers.PreTokenizer,
    size: int,
    min_frequency: int,
) -> list[str]:
    """Train byte-pair encoding (Sennrich et al. 2016); return the characters, then the merged pieces by rank.

    Args:
        lines: normalised text.
        characters: the initial alphabet; other characters are ignored.
        pre_tokenizer: bounds the merges: no piece spans two of its parts.
        size: total number of pieces; fewer are returned when no pair reaches ``min_frequency``.
        min_frequency: minimum count of a pair to be merged.
    """
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=min_frequency,
        initial_alphabet=list(characters),
        limit_alphabet=len(characters),
        max_token_length=MAX_PIECE_CHARS,
        show_progress=False,
    )
    library.train_from_iterator(lines, trainer)
    vocabulary: dict[str, int] = json.loads(library.to_str())["model"]["vocab"]
    return sorted(vocabulary, key=vocabulary.__getitem__)


def complete_merges(pieces: Sequence[str]) -> list[tuple[str, str]]:
    """Return every pair of pieces that concatenates to a piece, in the order of the results.

    The trainer records one pair a piece, its most frequent one. All of them together give SentencePiece's
    rule: merge the neighbours whose concatenation has the highest score.
    """
    vocabulary = set(pieces)
    splits = ((piece[:at], piece[at:]) for piece in pieces for at in range(1, len(piece)))
    return [(left, right) for left, right in splits if left in vocabulary and right in vocabulary]
