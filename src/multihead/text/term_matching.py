"""Finds terms in a text: leftmost, longest, whole words, with rules of case, in linear time."""

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import regex

Case = Literal["smart", "exact", "any"]
"""smart: a form without capitals matches in any case; another form matches as written and, unless it is all
capitals, in capitals. exact: as written. any: in any case."""

LONGEST = 200
"""Maximum length of a term in characters, which bounds the time spent at each place of a text."""

_PARTICLES = (
    "은|는|이|가|을|를|과|와|의|에|에서|에게|에게서|께|께서|한테|로|으로|로서|으로서|로써|으로써|로부터|으로부터|부터|까지|도|만|"
    "이나|나|이랑|랑|처럼|같이|보다|마다|조차|마저|밖에|뿐|대로|만큼|이란|란|이든|든|이야|야|아|여|요|이요|라고|이라고|라는|이라는|"
    "라도|이라도|라면|이라면|라서|이라서|이며|며|이고|고|하고|이다|다|이지만|지만|이므로|므로|인|일|임|인데|이니|이니까"
)
_COPULAS = r"(?:입니|이에요|예요|이었|였|이라|일\s?때|인지)\p{Hangul}{0,9}+"
_HANGUL_END = regex.compile(rf"들?(?:(?:{_PARTICLES}){{0,3}}|{_COPULAS})(?!\p{{Hangul}})")
"""Endings that a noun in Hangul may have."""
_HANGUL = regex.compile(r"\p{Hangul}")
_KATAKANA = regex.compile(r"[\p{Katakana}ー]")
_FREE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]")
"""Scripts without spaces between words."""
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}_]")


class FormOccurrence(NamedTuple):
    """A form in a text, ``text[start:end]``, and its number."""

    start: int
    end: int
    number: int


class Matcher:
    """Forms to find: a trie of lower-cased characters.

    Args:
        forms: each with its case rule; numbered in this order, from 0.
    """

    def __init__(self, forms: Iterable[tuple[str, Case]]) -> None:
        self._forms = list(forms)
        self._root: dict[str, dict] = {}  # type: ignore[type-arg]
        self._ends: dict[int, list[int]] = {}
        for number, (form, _) in enumerate(self._forms):
            for spelling in {unicodedata.normalize("NFC", form), unicodedata.normalize("NFD", form)}:
                node = self._root
                for letter in spelling:
                    node = node.setdefault(_fold(letter), {})
                self._ends.setdefault(id(node), []).append(number)

    def find(self, text: str) -> Iterator[FormOccurrence]:
        """Yield the forms in a text, the longest at each place; none overlaps another."""
        place = 0
        while place < len(text):
            occurrence = self._at(text, place)
            if occurrence:
                yield occurrence
            place = occurrence.end if occurrence else place + 1

    def _at(self, text: str, start: int) -> FormOccurrence | None:
        node, best, place = self._root, None, start
        while place < len(text):
            space = text[place].isspace()
            after = node.get(" " if space else _fold(text[place]))
            if after is None:
                break
            node, place = after, place + 1
            while space and place < len(text) and text[place].isspace():
                place += 1
            if id(node) in self._ends and is_bounded(text, start, place):
                best = self._allowed(text[start:place], self._ends[id(node)], start, place) or best
        return best

    def _allowed(self, text: str, numbers: list[int], start: int, end: int) -> FormOccurrence | None:
        """Return a form whose case rule allows a text, preferably one that is written the same."""
        text = " ".join(unicodedata.normalize("NFC", text).split())
        fitting = [number for number in numbers if _fits(text, *self._forms[number])]
        same = [number for number in fitting if self._forms[number][0] == text]
        return FormOccurrence(start, end, (same or fitting)[0]) if fitting else None


def _fold(letter: str) -> str:
    small = letter.lower()
    return small if len(small) == 1 else letter


def _fits(text: str, form: str, case: Case) -> bool:
    if text == form or case == "any":
        return True
    if case == "exact":
        return False
    return form == form.lower() or (text.isupper() and not form.isupper())


def is_bounded(text: str, start: int, end: int) -> bool:
    """Return whether ``text[start:end]`` starts and ends at word borders.

    In Hangul particles may follow. Scripts without spaces have no word borders, except for Katakana.
    """
    first, last = text[start], text[end - 1]
    before, after = text[start - 1 : start], text[end : end + 1]
    if before and _is_joined(before, first):
        return False
    if after and _HANGUL.match(last) and _HANGUL.match(after):
        return _HANGUL_END.match(text, end) is not None
    return not (after and _is_joined(last, after))


def _is_joined(left: str, right: str) -> bool:
    """Return whether two characters can be parts of one word."""
    if _FREE.match(left) or _FREE.match(right):
        return False
    for script in (_HANGUL, _KATAKANA):
        if script.match(left) or script.match(right):
            return bool(script.match(left) and script.match(right))
    return bool(_WORD.match(left) and _WORD.match(right))
