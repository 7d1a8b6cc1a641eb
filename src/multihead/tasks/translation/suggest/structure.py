"""Recognises targets of a formal language, such as SQL and logical forms, by signs and entropy."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import inf, log2
from typing import NamedTuple

import regex

SIGNS, BITS = 0.2, 3.0
"""Targets are formal from this share of signs on, and up to these bits a token that is not copied.

SCAN and the corpora of SQL and logical forms of Finegan-Dollak et al. (2018) have 0.34 to 0.61 and 0.5 to
2.4. Prose of as many signs, as in manuals and short exclamations, has 6.4 and more; part-of-speech tags and
names of emoji have fewer bits, and fewer signs."""
LEAST = 20
"""Different targets that are enough to judge by."""
MOST_CHARACTERS = 2_000
"""Characters of a line that are read: they bound time and memory."""
TOKEN = regex.compile(r"[^\W_]++|[^\w\s]|_")
"""A word, or a sign: a bracket, an operator, a mark."""
COPIED, EDGE = "copied word", "edge of the line"


class Structure(NamedTuple):
    """Structure of a corpus's targets.

    Attributes:
        signs: share of signs among words and signs.
        bits: entropy of a word or sign that the source lacks.
    """

    signs: float = 0.0
    bits: float = inf

    @property
    def is_formal(self) -> bool:
        """True for a formal language: many signs, and a grammar that leaves few choices."""
        return self.signs >= SIGNS and self.bits <= BITS

    def __str__(self) -> str:
        """Return the reason for settings that suit a formal language."""
        return (
            f"a formal language: {self.signs:.0%} signs, and {self.bits:.1f} bits a word that is not copied"
        )


def measure_structure(pairs: Sequence[tuple[str, str]]) -> Structure:
    """Measure the targets of some pairs; equal targets count once.

    The entropy is that of every second target under a bigram model of the others, interpolated with unigrams
    (Witten and Bell 1991, method C). Copied values depend on the source alone, and are one symbol.
    """
    sources = {target: source for source, target in reversed(pairs)}
    if len(sources) < LEAST:
        return Structure()
    lines, signs = [], 0
    for target, source in sources.items():
        copied = {*TOKEN.findall(source[:MOST_CHARACTERS].lower())}
        tokens = TOKEN.findall(target[:MOST_CHARACTERS].lower())
        signs += sum(not token.isalnum() for token in tokens)
        lines.append([EDGE, *(COPIED if token in copied else token for token in tokens)])
    tokens_in_all = sum(len(line) - 1 for line in lines)
    return Structure(signs / max(1, tokens_in_all), _entropy(lines[::2], lines[1::2]))


def _entropy(known: Sequence[Sequence[str]], tested: Sequence[Sequence[str]]) -> float:
    """Return the bits of a token of some lines that is not copied, under a bigram model of others."""
    bigrams = Counter(pair for line in known for pair in pairwise(line))
    contexts = Counter(first for first, _ in bigrams.elements())
    followers = Counter(first for first, _ in bigrams)
    unigrams = Counter(second for _, second in bigrams.elements())
    total, types = unigrams.total(), len(unigrams) + 1  # and an unseen one
    bits = []
    for first, second in (pair for line in tested for pair in pairwise(line) if pair[1] != COPIED):
        unigram = (unigrams[second] + types / (types + 1)) / (total + types)
        new = followers[first] or 1
        bits.append(-log2((bigrams[first, second] + new * unigram) / (contexts[first] + new)))
    return sum(bits) / len(bits) if bits else inf
