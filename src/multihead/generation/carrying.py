"""Placeholders and terms of one sentence: carried through search by symbols, or set between its parts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import regex

from multihead.generation.text_layout import Unit
from multihead.text import symbols
from multihead.text.languages import primary
from multihead.text.particles import agree
from multihead.text.placeholder_patterns import DEFAULT, find
from multihead.text.placeholders import Table, protect, restore
from multihead.text.symbols import PLACEHOLDERS, TERM, TERM_END, TERM_TARGET
from multihead.text.terms import Glossary, Match, Term

KINDS = DEFAULT - {"tag"}
"""Placeholders of a sentence, whose tags are placed by alignment."""
_TERMS = (TERM, TERM_TARGET, TERM_END)
_LETTER = regex.compile(r"\p{L}")
_CORE = regex.compile(r"[\p{L}\p{N}](?:.*[\p{L}\p{N}])?[.!?…。！？]?", regex.DOTALL)
_END = regex.compile(r"[.!?…。！？]+$")


class Carried(NamedTuple):
    """A translation of a sentence with its placeholders in their places.

    Attributes:
        text: the translation.
        lost: placeholders that it lacks.
        doubled: placeholders that it has too often.
        missing: terms that it lacks.
    """

    text: str
    lost: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    missing: tuple[Term, ...] = ()

    @property
    def whole(self) -> bool:
        """True if nothing is missing and nothing is there twice."""
        return not (self.lost or self.doubled or self.missing)


@dataclass(frozen=True)
class Line:
    """A sentence as it is searched.

    Attributes:
        unit: the sentence.
        text: marked text if symbols are known, else the sentence itself.
        table: placeholders by symbol, and those that stay in the text.
        matches: terms of the glossary in the sentence.
        symbols: True if ``text`` is marked text.
    """

    unit: Unit
    text: str
    table: Table
    matches: tuple[Match, ...] = ()
    symbols: bool = False

    @property
    def copied(self) -> bool:
        """True if nothing in the sentence can be translated: no letter outside of its placeholders."""
        spans = [span for _, span in self.table.entries] + list(self.table.left)
        rest, end = [], 0
        for span in sorted(spans):
            rest.append(self.unit.text[end : span.start])
            end = span.end
        return not any(map(_LETTER.search, [*rest, self.unit.text[end:]]))

    def received(self, output: str, glossary: Glossary | None, language: str) -> Carried:
        """Return an output of search with placeholders in their places."""
        marked = output if self.symbols else symbols.escape(output)
        restored, report = restore(_agreeing(marked, self.table, language), self.table)
        missing = glossary.missing(self.matches, restored) if glossary and self.matches else ()
        doubled = report.doubled
        if not self.symbols:
            doubled = _doubled(self.table, restored)
        return Carried(restored, report.lost, doubled, tuple(missing))

    def checked(self, text: str, glossary: Glossary | None) -> Carried:
        """Return a finished translation, without symbols, with what it lacks."""
        spans = (*(span for _, span in self.table.entries), *self.table.left)
        report = restore(symbols.escape(text), Table((), spans)).report
        missing = glossary.missing(self.matches, text) if glossary and self.matches else ()
        return Carried(text, report.lost, (), tuple(missing))


def line(unit: Unit, known: frozenset[str], glossary: Glossary | None) -> Line:
    """Return a sentence as it is searched.

    Args:
        unit: the sentence.
        known: symbols that the model was trained with; none: placeholders and terms stay as they are.
        glossary: terms to find.
    """
    matches = tuple(glossary.find(unit.text)) if glossary else ()
    if known:
        protected = protect(unit.text, known.intersection(PLACEHOLDERS), KINDS)
        text = protected.text
        if matches and known.issuperset(_TERMS):
            text = _with_terms(unit.text, protected.table, matches)
        return Line(unit, text, protected.table, matches, symbols=True)
    return Line(unit, unit.text, Table((), tuple(find(unit.text, KINDS))), matches)


def _with_terms(text: str, table: Table, matches: Sequence[Match]) -> str:
    """Return marked text with the translation of each term beside it."""
    edits = [(span.start, span.end, symbol) for symbol, span in table.entries]
    for start, end, term in matches:
        if not any(start < stop and first < end for first, stop, _ in edits):
            begin, between, finish = _TERMS
            inside = symbols.escape(text[start:end]), symbols.escape(term.target)
            edits.append((start, end, f"{begin} {inside[0]} {between} {inside[1]} {finish}"))
    parts, done = [], 0
    for start, end, new in sorted(edits):
        parts += [symbols.escape(text[done:start]), new]
        done = end
    return "".join([*parts, symbols.escape(text[done:])])


def _doubled(table: Table, text: str) -> tuple[str, ...]:
    """Return placeholders that stay in the text and are in its translation too often; numbers may be."""
    wanted = Counter(span.text for span in table.left if span.kind != "number")
    found = Counter(span.text for span in find(text, KINDS) if span.text in wanted) if wanted else Counter()
    return tuple(name for name in wanted if found[name] > wanted[name])


def _agreeing(marked: str, table: Table, language: str) -> str:
    """Let Korean particles after placeholders agree with what stands for them."""
    if primary(language) != "ko" or not table.entries:
        return marked
    originals = {entry.symbol: entry.span.text for entry in table.entries}
    parts = [[text, is_symbol] for text, is_symbol in symbols.split(marked)]
    for before, after in pairwise(parts):
        if before[1] and not after[1]:
            after[0] = agree(str(originals.get(str(before[0]), "")), str(after[0]))
    return "".join(str(text) if is_symbol else symbols.escape(str(text)) for text, is_symbol in parts)


class Fragment(NamedTuple):
    """A part of a sentence: text to translate, or a part that is set as it is."""

    text: str
    set_as: str | None = None

    @property
    def core(self) -> str:
        """The text without the punctuation and white space at its ends; a full stop stays."""
        found = _CORE.search(self.text)
        return found[0] if found else self.text


def fragments(found: Line) -> list[Fragment]:
    """Split a sentence around its placeholders and its terms, whose targets are set."""
    spans = [(span.start, span.end, span.text) for _, span in found.table.entries]
    spans += [(span.start, span.end, span.text) for span in found.table.left]
    inside = [(match.start, match.end, match.term.target) for match in found.matches]
    spans += [one for one in inside if not any(s < one[1] and one[0] < e for s, e, _ in spans)]
    parts, end = [], 0
    for start, stop, text in sorted(spans):
        parts += [Fragment(found.unit.text[end:start]), Fragment(found.unit.text[start:stop], text)]
        end = stop
    parts.append(Fragment(found.unit.text[end:]))
    return [
        part if part.set_as is not None or _LETTER.search(part.text) else Fragment(part.text, part.text)
        for part in parts
        if part.text
    ]


def joined(parts: Sequence[Fragment], translations: Sequence[str], language: str) -> str:
    """Join translated fragments, one translation for each fragment that is not set as it is.

    A fragment in the middle of a sentence keeps neither a full stop nor a capital that only its translation
    has. White space stays as it was.
    """
    rest = iter(translations)
    result = ""
    for number, part in enumerate(parts):
        if part.set_as is not None:
            result += part.set_as
            continue
        text, core = next(rest), part.core
        before, _, after = part.text.partition(core)
        if number + 1 < len(parts) or not _END.search(core):
            text = _END.sub("", text)
        if number and text[1:2].islower() and not core[:1].isupper():
            text = text[:1].lower() + text[1:]
        if number and not before and primary(language) == "ko":
            text = agree(parts[number - 1].set_as or "", text)
        result += before + text + after
    return result
