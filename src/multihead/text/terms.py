"""Glossaries: terms with their translations, read from a file, found in a source, looked up in a translation.

A file ``terms.tsv`` has a term a line, in columns: source, target, and optionally forms (further forms of the
target, separated by "|"), case and pos (part of speech). A first line with "source" and "target" names the
columns, in any order; it may name source_forms too. Lines that start with "#" are comments.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self, get_args

from multihead.errors import UserError
from multihead.text.delimited import rows_of
from multihead.text.lines import read_lines
from multihead.text.term_matching import LONGEST, Case, Matcher

COLUMNS = ("source", "target", "forms", "case", "pos")
"""Columns of a file without a heading."""
_NAMED = (*COLUMNS, "source_forms")
_MANY = "|"
_CASES: tuple[str, ...] = get_args(Case)


@dataclass(frozen=True)
class Term:
    """A term and its translation.

    Attributes:
        source: the term as the glossary spells it.
        target: its translation.
        source_forms: all forms that match this term, the source first.
        forms: all accepted translations, the target first.
        case: the case rule of both languages.
        pos: part of speech, for people; it does not resolve a contradiction.
        place: file and line.
    """

    source: str
    target: str
    source_forms: tuple[str, ...]
    forms: tuple[str, ...]
    case: Case
    pos: str
    place: str


class TermMatch(NamedTuple):
    """A term in a text, ``text[start:end]``."""

    start: int
    end: int
    term: Term


class Glossary:
    """Terms of one direction, without contradictions.

    Args:
        terms: the terms, in the order of the file.

    Raises:
        UserError: two translations of one form; a cycle: the target of a term is the source of another, and
            so on back to the first.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = _without_contradictions(terms)
        _refuse_cycles(self.terms)
        sources = [(form, term) for term in self.terms for form in term.source_forms]
        self._found = [term for _, term in sources]
        self._matcher = Matcher((form, term.case) for form, term in sources)

    @classmethod
    def load(cls, path: str | Path, encoding: str = "utf-8") -> Self:
        """Read a file.

        Raises:
            UserError: as the class does; a file that is missing, unreadable or empty; a line with an empty
                term, too many columns or an unknown rule of case.
        """
        terms = list(_parse(read_lines(str(path), encoding), str(path)))
        if not terms:
            raise UserError("no terms", place=str(path), remedy="Write source, tab, target on a line.")
        return cls(terms)

    def find(self, text: str) -> list[TermMatch]:
        """Return the terms in a text in order: leftmost and longest first, none inside another."""
        return [TermMatch(start, end, self._found[number]) for start, end, number in self._matcher.find(text)]

    def term_places(self, matches: Sequence[TermMatch], translation: str) -> list[tuple[int, int] | None]:
        """Return the place of each match's term in a translation, ``translation[start:end]``, or None.

        Each form in the translation counts for one match.
        """
        places: list[tuple[int, int] | None] = [None] * len(matches)
        forms = list(dict.fromkeys((form, match.term.case) for match in matches for form in match.term.forms))
        for start, end, number in Matcher(forms).find(translation):
            form, case = forms[number]
            for place, match in enumerate(matches):
                if places[place] is None and match.term.case == case and form in match.term.forms:
                    places[place] = (start, end)
                    break
        return places

    def missing(self, matches: Sequence[TermMatch], translation: str) -> list[Term]:
        """Return the terms matched in a source that its translation lacks, once for each missing match."""
        places = self.term_places(matches, translation)
        return [match.term for match, place in zip(matches, places, strict=True) if place is None]


def _parse(lines: Iterator[str], path: str) -> Iterator[Term]:
    columns: tuple[str, ...] = ()
    for number, row in rows_of(lines, path):
        place = f"{path}:{number}"
        if not row or row[0].startswith("#"):
            continue
        cells = [cell.strip() for cell in row]
        if not columns:
            names = tuple(cell.lower() for cell in cells)
            columns = _heading(names, place) if {"source", "target"} <= set(names) else COLUMNS
            if columns == names:
                continue
        if len(cells) > len(columns):
            fact = f"{len(cells)} columns, but a term has at most {len(columns)}: {', '.join(columns)}"
            raise UserError(fact, place=place, remedy="Mend the line, or name its columns in a heading.")
        yield _term(dict(zip(columns, cells, strict=False)), place)


def _heading(names: tuple[str, ...], place: str) -> tuple[str, ...]:
    for name in names:
        if name not in _NAMED or names.count(name) > 1:
            fact = f'"{name}" twice in the heading' if name in _NAMED else f'no column is called "{name}"'
            raise UserError(fact, place=place, remedy=f"There are: {', '.join(_NAMED)}.")
    return names


def _term(cells: dict[str, str], place: str) -> Term:
    for side in ("source", "target"):
        if not cells.get(side):
            remedy = "Write source, tab, target; or remove the line."
            raise UserError(f"an empty {side} term", place=place, remedy=remedy)
    case = cells.get("case") or "smart"
    if case not in _CASES:
        raise UserError(
            f'no rule of case is called "{case}"', place=place, remedy=f"Write {', '.join(_CASES)}."
        )
    source_forms = _forms(cells["source"], cells.get("source_forms", ""), place)
    forms = _forms(cells["target"], cells.get("forms", ""), place)
    rule: Case = case  # type: ignore[assignment]
    return Term(source_forms[0], forms[0], source_forms, forms, rule, cells.get("pos", ""), place)


def _forms(first: str, others: str, place: str) -> tuple[str, ...]:
    forms = [" ".join(unicodedata.normalize("NFC", form).split()) for form in (first, *others.split(_MANY))]
    for form in forms:
        if len(form) > LONGEST:
            remedy = "A glossary is for terms; put sentences into a translation memory."
            raise UserError(f"a term of more than {LONGEST} characters", place=place, remedy=remedy)
    return tuple(dict.fromkeys(form for form in forms if form))


def _without_contradictions(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Return the terms without repetitions."""
    distinct: list[Term] = []
    by_form: dict[str, Term] = {}
    for term in terms:
        keys = [form.lower() if term.case == "any" else form for form in term.source_forms]
        others = [by_form[key] for key in keys if key in by_form]
        for other in others:
            if other.forms != term.forms:
                fact = f'"{term.source}" is "{term.target}" here and "{other.target}" at {other.place}'
                remedy = "Keep one; or make the other one of its forms."
                raise UserError(fact, place=term.place, remedy=remedy)
            if other.case != term.case:
                fact = f'"{term.source}" has the case "{term.case}" here and "{other.case}" at {other.place}'
                raise UserError(fact, place=term.place, remedy="Keep one of the lines.")
        if len(others) < len(keys):
            distinct.append(term)
        by_form.update((key, term) for key in keys if key not in by_form)
    return tuple(distinct)


def _refuse_cycles(terms: Sequence[Term]) -> None:
    after = {form: term for term in reversed(terms) for form in term.source_forms}
    done: set[Term] = set()
    for first in terms:
        trail: list[Term] = []
        term: Term | None = first
        while term and term not in done and term.target not in term.source_forms:
            done.add(term)
            trail.append(term)
            term = after.get(term.target)
        if term in trail:
            cycle = trail[trail.index(term) :]
            words = " → ".join([*(member.source for member in cycle), cycle[0].source])
            others = ", ".join(member.place for member in cycle[:-1])
            fact = f"terms that translate each other: {words} (also {others})"
            remedy = "A glossary is for one direction: remove one of them."
            raise UserError(fact, place=cycle[-1].place, remedy=remedy)
