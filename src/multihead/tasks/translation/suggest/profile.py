"""Profile of a parallel corpus: what can be counted in one streaming pass."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, starmap
from math import ceil

import regex
from rapidfuzz.distance import Levenshtein

from multihead.data.added import added_pairs
from multihead.data.pairs import read_pairs
from multihead.recipe.settings import DataSettings
from multihead.tasks.translation.suggest.structure import Structure, measure_structure
from multihead.text.cleaning import length_ratio
from multihead.text.pieces import (
    BETWEEN_LETTERS,
    MAX_PIECE_CHARS,
    alphabet,
    count,
    normalizer,
    script_pre_tokenizer,
)

MOST_TYPES = 100_000
"""Different words counted a side; later ones count as unseen."""
MOST_PARTS = 50_000
"""Different words of both sides that are split into parts: more than the largest vocabulary needs."""
MOST_COMPARED = 2_000
"""Pairs whose sides are compared."""
APOSTROPHE = regex.compile(BETWEEN_LETTERS)
UNSPACED = frozenset(
    {"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "JAVANESE"}
)
"""Scripts written without spaces between words, by the first word of their characters' Unicode names."""


@dataclass
class SideProfile:
    """One side of a corpus, normalised (NFC).

    Attributes:
        lines: its lines.
        words: its white-space tokens.
        single: those of one character.
        types: count of each white-space token, up to ``MOST_TYPES`` different ones.
        characters: count of each character but the space.
        lengths: number of lines of each length in characters.
        apostrophes: count of each kind of apostrophe between letters.
    """

    lines: int = 0
    words: int = 0
    single: int = 0
    types: Counter[str] = field(default_factory=Counter)
    characters: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    apostrophes: Counter[str] = field(default_factory=Counter)

    def add(self, line: str) -> None:
        """Count a normalised line."""
        self.lines += 1
        self.lengths[len(line)] += 1
        self.apostrophes.update(APOSTROPHE.findall(line))
        for word in line.split():
            self.words += 1
            self.single += len(word) == 1
            if len(self.types) < MOST_TYPES or word in self.types:
                self.types[word] += 1
        self.characters.update(line.replace(" ", ""))  # other white space, such as a tab, is text

    @property
    def total_characters(self) -> int:
        """Characters, spaces included."""
        return sum(length * lines for length, lines in self.lengths.items())

    @property
    def line_characters(self) -> float:
        """Mean characters a line."""
        return self.total_characters / max(1, self.lines)

    @property
    def line_words(self) -> float:
        """Mean words a line."""
        return self.words / max(1, self.lines)

    @property
    def word_characters(self) -> float:
        """Mean characters a word."""
        return self.characters.total() / max(1, self.words)

    @property
    def single_share(self) -> float:
        """Share of words of one character."""
        return self.single / max(1, self.words)

    @cached_property
    def growth(self) -> float:
        """Probability that the next word is new: the share of words that occur once (Good 1953, eq. 9)."""
        counted = self.types.total()
        once = sum(times == 1 for times in self.types.values()) + self.words - counted
        return once / max(1, self.words)

    @cached_property
    def long_line(self) -> int:
        """99th percentile of the lines' lengths in characters."""
        left = self.lines / 100
        for length in sorted(self.lengths, reverse=True):
            left -= self.lengths[length]
            if left <= 0:
                return length
        return 0

    @cached_property
    def scripts(self) -> Mapping[str, float]:
        """Share of each script among the letters, by the first word of the characters' Unicode names."""
        counts: Counter[str] = Counter()
        for character, times in self.characters.items():
            if character.isalpha():
                counts[unicodedata.name(character, "OTHER").partition(" ")[0]] += times
        return {name: times / counts.total() for name, times in counts.most_common()}

    @property
    def unspaced(self) -> bool:
        """True if most letters are of scripts without spaces between words."""
        return sum(share for name, share in self.scripts.items() if name in UNSPACED) > 0.5


@dataclass(frozen=True)
class CorpusProfile:
    """Both sides of a corpus.

    Attributes:
        source: the source side.
        target: the target side.
        alphabets: frequent characters of the source, of the target, and of both together: their numbers.
        parts: words or parts of words, of two characters and more, that one piece could stand for: their
            numbers in the source, in the target and in both together.
        ratios: number of pairs by the ratio of their lengths (``text.cleaning``), rounded up.
        similarity: mean similarity of source and target, from 0 to 1: one minus their normalised edit
            distance (Levenshtein 1966).
        structure: of the targets.
    """

    source: SideProfile
    target: SideProfile
    alphabets: tuple[int, int, int]
    parts: tuple[int, int, int]
    ratios: Counter[int] = field(default_factory=Counter)
    similarity: float = 0.0
    structure: Structure = field(default_factory=Structure)

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return self.source.lines

    @property
    def length_ratio(self) -> float:
        """Target characters for each source character."""
        return self.target.total_characters / max(1, self.source.total_characters)

    @cached_property
    def shared_letters(self) -> float:
        """Overlap of the sides' letter frequencies, 0 to 1; of all characters' where there are no letters."""
        sides = []
        for side in (self.source, self.target):
            letters = {c: n for c, n in side.characters.items() if c.isalpha()} or side.characters
            total = max(1, sum(letters.values()))
            sides.append({c: n / total for c, n in letters.items()})
        return sum(min(share, sides[1].get(c, 0.0)) for c, share in sides[0].items())

    @cached_property
    def shared_words(self) -> float:
        """Share of the target's different words that the source has too."""
        both = self.source.types.keys() & self.target.types.keys()
        return len(both) / max(1, len(self.target.types))


def profile(pairs: Iterable[tuple[str, str]], *, lowercase: bool = False) -> CorpusProfile:
    """Measure the pairs of a corpus in one pass."""
    normal = normalizer(lowercase)
    sides = SideProfile(), SideProfile()
    ratios: Counter[int] = Counter()
    compared: list[tuple[str, str]] = []
    for pair in pairs:
        if len(compared) < MOST_COMPARED:
            compared.append(pair)
        ratios[ceil(length_ratio(*pair))] += 1
        for side, line in zip(sides, pair, strict=True):
            side.add(normal.normalize_str(line))
    source, target = (list(side.types)[:MOST_PARTS] for side in sides)
    groups = (source, target, [*source, *target])
    alphabets, parts = _triple(len(alphabet(g)) for g in groups), _triple(map(number_of_parts, groups))
    similarity = sum(starmap(Levenshtein.normalized_similarity, compared)) / max(1, len(compared))
    return CorpusProfile(*sides, alphabets, parts, ratios, similarity, measure_structure(compared))


def _triple(numbers: Iterable[int]) -> tuple[int, int, int]:
    one, two, three = numbers
    return one, two, three


def number_of_parts(words: Iterable[str]) -> int:
    """Count the words, or parts of words, of two characters and more, that one piece could stand for."""
    parts = count(dict.fromkeys(words), script_pre_tokenizer(split_digits=False))
    return sum(1 < len(part) <= MAX_PIECE_CHARS for part in parts)


def measure(data: DataSettings) -> CorpusProfile:
    """Measure the training files.

    Raises:
        UserError: see ``data.pairs.read_pairs``.
    """
    pairs = chain(read_pairs(data, data.source, data.target), added_pairs(data))
    return profile(pairs, lowercase=data.lowercase)
