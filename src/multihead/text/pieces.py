"""What vocabularies are made of: characters, words and merged pieces, counted in an order of their own."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

COVERAGE = 0.9999
"""Part of the text whose characters become pieces; the rare others are spelt in bytes, or unknown."""
BYTES = tuple(f"<0x{value:02X}>" for value in range(256))
"""Pieces that together spell any character in UTF-8, named as in SentencePiece."""
LONGEST_PIECE = 32
"""Characters of a merged piece at most: beyond are rows of signs and other waste."""

_APART = r"\p{Hangul}\p{Han}\p{Hiragana}\p{Katakana}ー"
"""Scripts that are written without a space, or with particles, after words of other scripts."""


def normalizer(lowercase: bool) -> normalizers.Normalizer:
    """Return what is done to a text first: (lower case,) NFC, and spaces made single."""
    return normalizers.Sequence(
        [
            *([normalizers.Lowercase()] if lowercase else []),
            normalizers.NFC(),
            normalizers.Replace(Regex("[ ▁]+"), " "),
            normalizers.Replace(Regex(r"\A | \z"), ""),
        ]
    )


def spaces() -> pre_tokenizers.PreTokenizer:
    """Return the cutter at spaces: a word starts with "▁", which stands for the space before it."""
    return pre_tokenizers.Metaspace(prepend_scheme="always", split=True)


def parts(split_digits: bool, *, runs: bool = True) -> pre_tokenizers.PreTokenizer:
    """Return the cutter at spaces and, within words, between letters, digits and punctuation.

    Hangul, Han with kana, and the letters of all other scripts are kept apart too, as in SentencePiece.

    Args:
        split_digits: whether every digit is a part of its own.
        runs: whether adjacent punctuation is one part.
    """
    words = [
        r"▁?\p{Hangul}+",
        r"▁?[\p{Han}\p{Hiragana}\p{Katakana}ー]+",
        rf"▁?[[\p{{L}}\p{{M}}]&&[^{_APART}]]+",
        r"\p{N}" if split_digits else r"▁?\p{N}+",
        r"▁?[^\p{L}\p{M}\p{N}▁]" + ("+" if runs else ""),
        "▁",
    ]
    return pre_tokenizers.Sequence([spaces(), pre_tokenizers.Split(Regex("|".join(words)), "isolated")])


def alphabet(lines: Iterable[str]) -> list[str]:
    """Return the most frequent characters, enough for ``COVERAGE`` of the text, ordered by code point."""
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


def count(lines: Iterable[str], cutter: pre_tokenizers.PreTokenizer) -> Counter[str]:
    """Return how often each word or part of a word occurs."""
    words = Counter(word for line in lines for word in line.split(" "))
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for part, _ in cutter.pre_tokenize_str(word):
            counts[part] += times
    return counts


def by_count(counts: Counter[str]) -> list[str]:
    """Return the counted strings, most frequent first, equally frequent ones by code point."""
    return sorted(counts, key=lambda text: (-counts[text], text))


def merged(
    lines: Iterable[str],
    letters: Sequence[str],
    cutter: pre_tokenizers.PreTokenizer,
    size: int,
    min_frequency: int,
) -> list[str]:
    """Return the pieces of byte-pair encoding (Sennrich et al. 2016): the letters, then merged ones in order.

    Args:
        lines: normalised text.
        letters: the characters to start from; others are left out.
        cutter: no merge reaches over the parts that it makes.
        size: pieces wanted in all; fewer come back where no two pieces meet ``min_frequency`` times.
        min_frequency: how often two pieces must meet in order to be merged.
    """
    library = Library(models.BPE())
    library.pre_tokenizer = cutter
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=min_frequency,
        initial_alphabet=list(letters),
        limit_alphabet=len(letters),
        max_token_length=LONGEST_PIECE,
        show_progress=False,
    )
    library.train_from_iterator(lines, trainer)
    vocabulary: dict[str, int] = json.loads(library.to_str())["model"]["vocab"]
    return sorted(vocabulary, key=vocabulary.__getitem__)


def complete_merges(pieces: Sequence[str]) -> list[tuple[str, str]]:
    """Return all pairs of pieces that make a piece, in the order of the pieces they make.

    A trainer notes one pair for each piece, the one it met most often. With all of them the rule is that
    of SentencePiece: whatever two neighbours make the earliest piece are merged.
    """
    known = set(pieces)
    cuts = ((piece[:cut], piece[cut:]) for piece in pieces for cut in range(1, len(piece)))
    return [(left, right) for left, right in cuts if left in known and right in known]
