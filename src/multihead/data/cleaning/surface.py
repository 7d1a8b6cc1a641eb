"""Checks that read a pair alone: noise, numbers, placeholders; and near-duplicates."""

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from multihead.text.placeholder_patterns import Kind, find

PLACEHOLDERS: Collection[Kind] = ("icu", "variable", "printf", "tag", "url", "email")
REPEATED_WORDS, REPEATED_SHARE = 5, 0.5
"""A line is repetitive from so many words on, if one word makes up more than this share of them."""
SYMBOLS = 64
"""Up to so many different words, a side is of symbols, which may well repeat."""
AGREED = 0.98
"""Share of the pairs that must agree before a difference is held against one."""
LEAST_PAIRS = 100
"""Pairs in which there is something to compare, for the same purpose."""
CONTRAST = 8
"""Letters of one side from which on the other needs some."""

Rows = NDArray[np.bool_]


def noisy(pairs: Sequence[tuple[str, str]]) -> Rows:
    """Return which pairs have a side without letters, or one that repeats a word, and the other is ordinary.

    A property that many pairs of the corpus have is no noise.
    """
    if not pairs:
        return np.zeros(0, dtype=bool)
    repeated = _repeat([one for one, _ in pairs]) != _repeat([other for _, other in pairs])
    marks = np.stack([[_letterless(*pair) for pair in pairs], repeated], axis=1)
    found: Rows = (marks & (marks.mean(axis=0) <= 1 - AGREED)).any(axis=1)
    return found


def _letterless(source: str, target: str) -> bool:
    letters = [sum(map(str.isalpha, text)) for text in (source, target)]
    return min(letters) == 0 and max(letters) >= CONTRAST


def _repeat(texts: Sequence[str]) -> Rows:
    """Return which lines of one side repeat a word, (N,); none where all lines are of a few symbols."""
    lines = [text.casefold().split() for text in texts]
    symbols = len({word for words in lines for word in words}) <= SYMBOLS
    return np.array([not symbols and _repeats(words) for words in lines], dtype=bool)


def _repeats(words: Sequence[str]) -> bool:
    if len(words) < REPEATED_WORDS:
        return False
    return Counter(words).most_common(1)[0][1] > REPEATED_SHARE * len(words)


def differing(found: Sequence[tuple[Collection[str], Collection[str]]], *, either: bool) -> Rows:
    """Return which pairs differ in what was found in them, (N,); none where the corpus as a whole differs.

    Args:
        found: of each pair, what was found in source and target.
        either: compare pairs in which only one side has something, too.
    """
    counts = [(Counter(one), Counter(other)) for one, other in found]
    compared = np.array([bool(a or b) if either else bool(a and b) for a, b in counts], dtype=bool)
    equal = np.array([a == b for a, b in counts], dtype=bool)
    differ: Rows = compared & ~equal
    if compared.sum() < LEAST_PAIRS or differ.sum() > (1 - AGREED) * compared.sum():
        return np.zeros(len(found), dtype=bool)
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
