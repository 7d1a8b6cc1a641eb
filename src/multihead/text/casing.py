"""Truecasing (Lita et al. 2003): the usual capitals of words, for sentences in capitals only or without any.

A translator's forms are stored in its run folder as casing.json.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import regex

from multihead.system.json_file import read_json

NAME = "casing.json"
FORMAT = 1
MOST = 50_000
"""Maximum number of words, the most frequent."""
RARE = 0.02
"""Share of the training's sentences below which a way of writing is rare."""
LEAST_WORDS = 3
"""Minimum number of words to judge a sentence's casing; fewer may be names or abbreviations."""
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}\p{N}]*")
_LONG_WORD = regex.compile(r"\p{Lu}{2,}")
_LETTER = regex.compile(r"\p{L}")


class Casing:
    """The usual spelling of words, which differs from their lower case.

    Args:
        forms: spellings by the word in capitals, such as {"HAUS": "Haus", "STRASSE": "Straße"}.
        plain: share of sentences without a capital letter in the training; 1 if unknown, or if the
            script has no capitals.
        capitals: share of sentences in capitals only; 0 if unknown.
    """

    def __init__(
        self, forms: Mapping[str, str] | None = None, plain: float = 1.0, capitals: float = 0.0
    ) -> None:
        self._forms, self.plain, self.capitals = forms or {}, plain, capitals

    def lacks_capitals(self, text: str) -> bool:
        """Return True for a sentence without capitals if the training has hardly any."""
        return self.plain < RARE and _plain(text)

    def has_only_capitals(self, text: str) -> bool:
        """Return True for a sentence in capitals, such as a headline, if the training has hardly any."""
        return self.capitals < RARE and _in_capitals(text)

    def usual(self, text: str, *, first: bool) -> str:
        """Return a text with each word in its usual spelling, ignoring its capitals.

        Args:
            first: True if the text begins a sentence: a letter at its beginning becomes a capital.
        """
        written: str = _WORD.sub(lambda word: self._forms.get(word[0].upper(), word[0].lower()), text)
        return written[:1].upper() + written[1:] if first and _LETTER.match(written) else written

    @classmethod
    def learn(cls, sentences: Iterable[str]) -> Self:
        """Return the casing of a corpus; time and memory grow with its words.

        The first word of a sentence is counted only for words that occur nowhere else.
        """
        within: dict[str, Counter[str]] = {}
        first: dict[str, Counter[str]] = {}
        total = plain = capitals = 0
        for sentence in sentences:
            words = _WORD.findall(sentence)
            if not words:
                continue
            if len(words) >= LEAST_WORDS:
                total += 1
                plain += _plain(sentence)
                capitals += _in_capitals(sentence)
            if len(words) > 1 and sentence == sentence.upper():
                continue  # a headline shows no word's spelling
            first.setdefault(words[0].upper(), Counter())[words[0]] += 1
            for word in words[1:]:
                within.setdefault(word.upper(), Counter())[word] += 1
        forms: dict[str, str] = {}
        for key, counts in sorted({**first, **within}.items(), key=lambda item: (-item[1].total(), item[0])):
            # The first of equal counts would be a matter of the corpus' order.
            usual = min(counts, key=lambda form: (-counts[form], form))
            if usual != key.lower() and len(forms) < MOST:
                forms[key] = usual
        return cls(forms, round(plain / total, 4), round(capitals / total, 4)) if total else cls(forms)

    def to_json(self) -> str:
        """Return the content of casing.json."""
        shares = {"plain": self.plain, "capitals": self.capitals}
        return json.dumps({"format": FORMAT, **shares, "forms": self._forms}, ensure_ascii=False) + "\n"

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return the casing of a run; an empty one for a run without.

        Raises:
            UserError: the file is damaged.
        """
        remedy = "Remove it: sentences in capitals are then searched in lower case."
        return cls(*(read_json(Path(folder) / NAME, _check, remedy) or ()))


def _plain(text: str) -> bool:
    return text == text.lower() and len(_WORD.findall(text)) >= LEAST_WORDS


def _in_capitals(text: str) -> bool:
    return text == text.upper() and len(_LONG_WORD.findall(text)) >= LEAST_WORDS


def _check(content: Any) -> tuple[dict[str, str], float, float]:
    if content["format"] != FORMAT:
        raise ValueError("not a casing of this version")
    forms, plain, capitals = content["forms"], float(content["plain"]), float(content["capitals"])
    if not (0 <= plain <= 1 and 0 <= capitals <= 1):
        raise ValueError("a share is not between 0 and 1")
    for key, form in forms.items():
        if not isinstance(form, str) or form.upper() != key:
            raise ValueError(f"{form!r} does not spell {key!r}")
    return dict(forms), plain, capitals
