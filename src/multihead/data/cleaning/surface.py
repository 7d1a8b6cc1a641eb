"""Checks of single pairs: noise, numbers, placeholders; and near-duplicates."""

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from multihead.text.placeholder_patterns import Kind, find

PLACEHOLDERS: Collection[Kind] = ("icu", "variable", "printf", "tag", "url", "email")
REPEATED_WORDS, REPEATED_SHARE = 5, 0.5
"""A line of at least this many words is repetitive if one word makes up more than this share."""
SYMBOLS = 64
"""Maximum number of distinct words of a side of symbols, which may well repeat."""
AGREED = 0.98
"""Share of the pairs that must agree for a difference to count."""
LEAST_PAIRS = 100
"""Minimum number of comparable pairs for a difference to count."""
CONTRAST = 8
"""Letters of one side above which the other side needs some."""

Rows = NDArray[np.bool_]


def noisy(pairs: Sequence[tuple[str, str]]) -> Rows:
    """Return which pairs have an ordinary side and one without letters or with a repeated word, (N,).

    A property that many pairs of the corpus share is not noise.
    """
    if not pairs:
        return np.zeros(0, dtype=bool)
    repeated = _repeat([source for source, _ in pairs]) != _repeat([target for _, target in pairs])
    marks = np.stack([[_letterless(*pair) for pair in pairs], repeated], axis=1)
    noise: Rows = (marks & (marks.mean(axis=0) <= 1 - AGREED)).any(axis=1)
    return noise


def _letterless(source: str, target: str) -> bool:
    letters = [sum(map(str.isalpha, text)) for text in (source, target)]
    return min(letters) == 0 and max(letters) >= CONTRAST


def _repeat(texts: Sequence[str]) -> Rows:
    """Return which lines of one side repeat a word, (N,); none if all lines consist of a few symbols."""
    lines = [text.casefold().split() for text in texts]
    symbols = len({word for words in lines for word in words}) <= SYMBOLS
    repeats = [
        len(words) >= REPEATED_WORDS and max(Counter(words).values()) > REPEATED_SHARE * len(words)
        for words in lines
    ]
    return np.array(repeats, dtype=bool) & (not symbols)


def differing(items: Sequence[tuple[Collection[str], Collection[str]]], *, either: bool) -> Rows:
    """Return which pairs differ in their items, (N,); none if the corpus as a whole differs.

    Args:
        items: the items, such as numbers, of each source and target.
        either: compare pairs in which only one side has something, too.
    """
    counts = [(Counter(source), Counter(target)) for source, target in items]
    compared = np.array([bool(a or b) if either else bool(a and b) for a, b in counts], dtype=bool)
    equal = np.array([a == b for a, b in counts], dtype=bool)
    differ: Rows = compared & ~equal
    if compared.sum() < LEAST_PAIRS or differ.sum() > (1 - AGREED) * compared.sum():
        return np.zeros(len(items), dtype=bool)
    return differ


def numbers(text: str) -> list[str]:
    """Return the digits of each number of a text."""
    if not any(map(str.isdigit, text)):
        return []
    spans = find(text, ("number", "integer"))
    return ["".join(str(unicodedata.digit(c)) for c in span.text if c.isdigit()) for span in spans]


def placeholders(text: str) -> list[str]:
    """Return the variables, tags and addresses of a text."""
    if not any(mark in text for mark in "{%$<@/#"):
        return []
    return [span.text for span in find(text, PLACEHOLDERS)]


def near_duplicates(pairs: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> Iterator[int]:
    """Yield the number of the first pair with the same words as each, from 0; its own for a new pair.

    Case, spacing and punctuation at the end do not count.
    """
    first: dict[tuple[str, str], int] = {}
    for number, pair in enumerate(pairs):
        yield first.setdefault((plain(pair[0]), plain(pair[1])), number)


def plain(text: str) -> str:
    """Return a text with case folded, spaces collapsed, and without punctuation at its end."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return folded.rstrip(".,:;!?\u3002 ") or folded
