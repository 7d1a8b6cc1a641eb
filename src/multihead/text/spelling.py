"""Spelling correction: a word unseen in training is replaced by its most frequent neighbour.

Neighbours have one letter fewer, one more, or two letters swapped, by far the most frequent errors (Damerau
1964). The words of a translator's training are stored in its run folder as spelling.json.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import regex

from multihead.system.json_file import read_json

NAME = "spelling.json"
FORMAT = 1
MOST = 50_000
"""Maximum number of words, the most frequent."""
LEAST = 2
"""Minimum count of a word that an error is corrected to."""
RISK = 0.01
"""Maximum share of correct words mistaken for errors; beyond it, nothing is corrected."""
LETTERS = 100
"""Alphabets larger than this (Hangul syllables) get no spelling correction."""
TRIED = 2_000
"""Maximum number of rare words to measure the risk with."""
CAPITALS = 0.2
"""Share of capitals within sentences below which a capital marks a name, which is never corrected."""
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_ALONE = regex.compile(r"(?<![\p{L}\p{M}\p{N}_'’@/\\&#.-])\p{L}[\p{L}\p{M}]*+(?![\p{N}_'’@/\\&#]|[.-]\p{L})")
"""A word that is not part of a name such as mp3, of a compound with hyphens or of a contraction."""


class Corrected(NamedTuple):
    """A text without typing errors.

    Attributes:
        text: the text.
        words: the corrections, as (written, corrected).
    """

    text: str
    words: tuple[tuple[str, str], ...]


class Spelling:
    """The words of a language, and corrections of misspelt words.

    Args:
        counts: occurrences by word, as it is written within sentences.
        names: True if a capital within a sentence marks a name.
    """

    def __init__(self, counts: Mapping[str, int] | None = None, *, names: bool = True) -> None:
        self.counts, self.names = counts or {}, names
        self._known: dict[str, tuple[int, str]] = {}  # by lower case: occurrences, most frequent form
        for word, count in self.counts.items():
            total, form = self._known.get(word.lower(), (0, word))
            usual = form if self.counts[form] >= count else word
            self._known[word.lower()] = total + count, usual
        self._letters = sorted({letter for word in self._known for letter in word})

    def correct_words(self, text: str, *, first: bool) -> Corrected:
        """Return a text with unknown words replaced by their most frequent neighbours.

        Args:
            first: True if the text begins a sentence, whose first word may have a capital in any case.
        """
        if not self.counts:
            return Corrected(text, ())
        parts, words, end = [], [], 0
        start = opening.start() if (opening := _WORD.search(text)) else 0
        for match in _ALONE.finditer(text):
            begins = first and match.start() == start
            correction = self._read(match[0], begins=begins)
            if correction is not None:
                parts += [text[end : match.start()], correction]
                words.append((match[0], correction))
                end = match.end()
        return Corrected("".join([*parts, text[end:]]), tuple(words))

    def _read(self, word: str, *, begins: bool) -> str | None:
        """Return the correction of a word, or None to keep it."""
        lower = word.lower()
        if len(word) < 2 or lower in self._known or word.isupper():
            return None
        capital = word[0].isupper()
        if capital and not begins and self.names:
            return None
        form = self._nearest(lower)
        return form if form is None or not (capital and begins) else form[:1].upper() + form[1:]

    def _nearest(self, lower: str) -> str | None:
        candidates = [self._known[word] for word in _neighbours(lower, self._letters) if word in self._known]
        # Ties are broken alphabetically, independent of the order of the neighbours.
        best = min(candidates, key=lambda entry: (-entry[0], entry[1]), default=(0, ""))
        return best[1] if best[0] >= LEAST else None

    @classmethod
    def learn(cls, sentences: Iterable[str]) -> Self:
        """Return the spelling of a corpus; an empty one if correcting would do harm.

        The risk of changing a correct new word is estimated on words that occur once, as if they were unseen.
        """
        within: Counter[str] = Counter()
        first: Counter[str] = Counter()
        capitals = 0
        for sentence in sentences:
            words = _WORD.findall(sentence)
            first.update(words[:1])
            within.update(words[1:])
            capitals += sum(word[0].isupper() for word in words[1:])
        # The first word of a sentence shows no spelling of its own, but that the word exists.
        counts = within + Counter({word: n for word, n in first.items() if word.lower() not in within})
        total = counts.total()
        frequent = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST])
        spelling = cls(frequent, names=capitals < CAPITALS * within.total())
        if not total or len(spelling._letters) > LETTERS:
            return cls()
        rare = sorted(word for word, (count, _) in spelling._known.items() if count == 1)
        tried = rare[:: 1 + len(rare) // TRIED]
        wrong = sum(spelling._nearest(word) is not None for word in tried)
        unseen = len(rare) + sum(n for _, n in counts.items()) - sum(frequent.values())
        risk = unseen / total * wrong / max(1, len(tried))
        return spelling if risk <= RISK else cls()

    def to_json(self) -> str:
        """Return the content of spelling.json."""
        content = {"format": FORMAT, "names": self.names, "words": self.counts}
        return json.dumps(content, ensure_ascii=False) + "\n"

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return the spelling of a run; an empty one for a run without.

        Raises:
            UserError: the file is damaged.
        """
        remedy = "Remove it: typing errors are then searched as they are."
        words, names = read_json(Path(folder) / NAME, _check, remedy) or ({}, True)
        return cls(words, names=names)


def _neighbours(word: str, letters: Iterable[str]) -> Iterator[str]:
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]
        yield word[:place] + word[place + 1 : place + 2] + word[place] + word[place + 2 :]
    for place in range(len(word) + 1):
        for letter in letters:
            yield word[:place] + letter + word[place:]


def _check(content: Any) -> tuple[dict[str, int], bool]:
    if content["format"] != FORMAT:
        raise ValueError("not a spelling of this version")
    words, names = content["words"], content["names"]
    if not isinstance(names, bool) or len(words) > MOST:
        raise ValueError("not a spelling")
    for word, count in words.items():
        if not _WORD.fullmatch(word) or not isinstance(count, int) or count < 1:
            raise ValueError(f"{word!r} is not a word with a count")
    return dict(words), names
