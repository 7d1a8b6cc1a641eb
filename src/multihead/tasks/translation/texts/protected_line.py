"""Placeholders and terms of one sentence: carried through search as symbols, or set between its parts."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import regex

from multihead.tasks.translation.texts.text_layout import SentenceUnit
from multihead.text import symbols
from multihead.text.casing import Casing
from multihead.text.changed_kinds import DIGITS, LETTERLESS, has_letters
from multihead.text.languages import primary
from multihead.text.particles import following_with_particle
from multihead.text.placeholder_patterns import CARRIED, DEFAULT, Kind, PlaceholderSpan, find
from multihead.text.placeholders import PlaceholderEntry, PlaceholderTable, protect, restore
from multihead.text.symbols import PLACEHOLDERS, TERM, TERM_END, TERM_TARGET
from multihead.text.term_matching import Matcher
from multihead.text.terms import Glossary, Term, TermMatch
from multihead.text.tokenizer import Tokenizer
from multihead.text.unknown_words import unknown_words

_TERMS = (TERM, TERM_TARGET, TERM_END)
_REPLACED: tuple[Kind, ...] = ("icu", "variable", "printf", "tag", "entity")
"""Kinds that are not read as they are written."""
_ADDED_STOP = regex.compile(r"(?<=[\p{L}\p{N}])[.。]$")
_LETTER = regex.compile(r"\p{L}")


class Carried(NamedTuple):
    """A translation of a sentence with its placeholders restored.

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
        """True if nothing is missing or doubled."""
        return not (self.lost or self.doubled or self.missing)


@dataclass(frozen=True)
class SearchedLine:
    """A sentence prepared for search.

    Attributes:
        unit: the sentence.
        text: marked text if the model has symbols, else plain text.
        table: placeholders by symbol, and placeholders that stay in the text.
        matches: terms of the glossary in the sentence.
        symbols: whether ``text`` is marked text.
        capitals: whether the sentence, and so its translation, is in capitals.
        casing: usual capitals that ``text`` is written in; None: as the sentence.
        bare: whether the translation of a text without a full stop, such as a heading, gets none either.
        letterless: whether training translated sentences without letters instead of copying them.
        rewritten: numbers that a translation spells differently, with the same digits.
    """

    unit: SentenceUnit
    text: str
    table: PlaceholderTable
    matches: tuple[TermMatch, ...] = ()
    symbols: bool = False
    capitals: bool = False
    casing: Casing | None = None
    bare: bool = False
    letterless: bool = False
    rewritten: tuple[PlaceholderSpan, ...] = ()

    @property
    def copied(self) -> bool:
        """True if the sentence is copied: it has no letter outside its placeholders (see ``letterless``)."""
        if self.letterless:
            return False
        spans = [*(span for _, span in self.table.entries), *self.table.left]
        return not has_letters(self.unit.text, [(span.start, span.end) for span in spans])

    def receive(self, output: str, glossary: Glossary | None, language: str) -> Carried:
        """Return a search output with its placeholders restored."""
        marked = output if self.symbols else symbols.escape(output)
        if self.capitals:
            marked = _map(marked, str.upper)
        if primary(language) == "ko":
            marked = _with_particles_behind(marked, self.table)
        restored, report = restore(marked, self.table)
        restored = _with_particles(restored, self.matches, language)
        if self.bare and _LETTER.search(self.unit.text[-1]):
            restored = _ADDED_STOP.sub("", restored)
        missing = glossary.missing(self.matches, restored) if glossary and self.matches else ()
        doubled = report.doubled
        if not self.symbols:
            doubled = _duplicates(self.table, restored)
        return Carried(restored, report.lost, doubled, tuple(missing))

    def substitute(self, known: frozenset[str]) -> "SearchedLine | None":
        """Return the line with a placeholder for each term's translation; None if the model has too few."""
        used = {symbol for symbol, _ in self.table.entries}
        free = [name for name in PLACEHOLDERS if name in known and name not in used]
        entries = list(self.table.entries)
        for start, end, term in self.matches:
            if not any(start < span.end and span.start < end for _, span in entries):
                if not free:
                    return None
                target = term.target
                if start == 0 and self.unit.text[0].isupper() and term.case != "exact":
                    target = target[0].upper() + target[1:]
                entries.append(PlaceholderEntry(free.pop(0), PlaceholderSpan(start, end, "variable", target)))
        entries.sort(key=lambda entry: entry.span.start)
        parts, done = [], 0
        for symbol, span in entries:
            parts += [symbols.escape(self.unit.text[done : span.start]), symbol]
            done = span.end
        text = "".join([*parts, symbols.escape(self.unit.text[done:])])
        text = _recase(text, self.casing) if self.casing else text
        return replace(self, text=text, table=PlaceholderTable(tuple(entries), self.table.left))

    def check(self, text: str, glossary: Glossary | None) -> Carried:
        """Return a finished translation without symbols, and report missing placeholders and terms."""
        spans = (*(span for _, span in self.table.entries), *self.table.left)
        report = restore(symbols.escape(text), PlaceholderTable((), spans)).report
        missing = glossary.missing(self.matches, text) if glossary and self.matches else ()
        return Carried(text, report.lost, (), tuple(missing))


def line(
    unit: SentenceUnit,
    known: frozenset[str],
    glossary: Glossary | None,
    casing: Casing,
    changed: Collection[str] = (),
    tokenizer: Tokenizer | None = None,
) -> SearchedLine:
    """Prepare a sentence for search.

    Args:
        unit: the sentence.
        known: symbols that the model was trained with; empty: placeholders and terms stay in the text.
        glossary: terms to find.
        casing: usual capitals of source words.
        changed: kinds of placeholders that the training's targets change (``text.changed_kinds``).
        tokenizer: of the source; words that it cannot spell become symbols.
    """
    matches = tuple(glossary.find(unit.text)) if glossary else ()
    if known:
        placeholders = known.intersection(PLACEHOLDERS)
        unknown = unknown_words(unit.text, tokenizer) if tokenizer else ()
        text, table = protect(unit.text, placeholders, CARRIED, changed, unknown)
        words = _without_symbols(text)
        if words.isupper() and casing.has_only_capitals(unit.text):  # a headline, not a row of abbreviations
            text, table = protect(unit.text, placeholders, CARRIED - {"identifier"}, changed, unknown)
            words = _without_symbols(text)
        if matches and known.issuperset(_TERMS):
            text = _with_terms(unit.text, table, matches)
    else:
        text = words = unit.text
        table = PlaceholderTable((), tuple(find(text, DEFAULT - {"tag"}, changed)))
    capitals = casing.has_only_capitals(words)
    # Addresses and the like that stay in the text keep their spelling.
    fixed = any(_LETTER.search(span.text) for span in table.left)
    recased = not fixed and (capitals or casing.lacks_capitals(words))
    if recased:
        marked = _recase(text if known else symbols.escape(text), casing)
        text = marked if known else symbols.unescape(marked)
    return SearchedLine(
        unit,
        text,
        table,
        matches,
        symbols=bool(known),
        capitals=capitals and recased,
        casing=casing if recased else None,
        letterless=LETTERLESS in changed,
        rewritten=tuple(span for span in find(unit.text, CARRIED) if DIGITS + span.shape in changed),
    )


def _without_symbols(marked: str) -> str:
    return "".join(part for part, is_symbol in symbols.split(marked) if not is_symbol)


def _recase(marked: str, casing: Casing) -> str:
    """Return marked text in its usual capitals; symbols and translations of terms are kept."""
    done: list[str] = []
    verbatim = False
    for part, is_symbol in symbols.split(marked):
        if is_symbol:
            verbatim = part == TERM_TARGET
            done.append(part)
        else:
            done.append(symbols.escape(part if verbatim else casing.usual(part, first=not done)))
    return "".join(done)


def _map(marked: str, change: Callable[[str], str]) -> str:
    """Return marked text with a function applied to all but its symbols."""
    return "".join(
        part if is_symbol else symbols.escape(change(part)) for part, is_symbol in symbols.split(marked)
    )


def _with_terms(text: str, table: PlaceholderTable, matches: Sequence[TermMatch]) -> str:
    """Return marked text with the translation of each term beside it."""
    edits = [(span.start, span.end, symbol) for symbol, span in table.entries]
    for start, end, term in matches:
        if not any(start < stop and first < end for first, stop, _ in edits):
            source, target = symbols.escape(text[start:end]), symbols.escape(term.target)
            edits.append((start, end, f"{TERM} {source} {TERM_TARGET} {target} {TERM_END}"))
    parts, done = [], 0
    for start, end, new in sorted(edits):
        parts += [symbols.escape(text[done:start]), new]
        done = end
    return "".join([*parts, symbols.escape(text[done:])])


def _duplicates(table: PlaceholderTable, text: str) -> tuple[str, ...]:
    """Return placeholders, except numbers, that stay in the text and are in its translation too often."""
    expected = Counter(span.text for span in table.left if span.kind != "number")
    counts = Counter(span.text for span in find(text, CARRIED)) if expected else Counter()
    return tuple(name for name in expected if counts[name] > expected[name])


def _with_particles_behind(marked: str, table: PlaceholderTable) -> str:
    """Let Korean particles behind placeholders agree with what these stand for, which search did not see."""
    names = {symbol: span.text for symbol, span in table.entries if span.kind not in _REPLACED}
    parts: list[str] = []
    noun = ""
    for part, is_symbol in symbols.split(marked):
        parts.append(part if is_symbol else symbols.escape(following_with_particle(noun, part, latin=True)))
        noun = names.get(part, "") if is_symbol else ""
    return "".join(parts)


def _with_particles(text: str, matches: Sequence[TermMatch], language: str) -> str:
    """Let Korean particles after terms agree with them: search may have chosen them for another noun."""
    if not matches or primary(language) != "ko":
        return text
    forms = [(form, match.term.case) for match in matches for form in match.term.forms]
    parts: list[str] = []
    end = 0
    for start, stop, _ in Matcher(forms).find(text):
        parts.append(following_with_particle(parts[-1], text[end:start]) if parts else text[end:start])
        parts.append(text[start:stop])
        end = stop
    parts.append(following_with_particle(parts[-1], text[end:]) if parts else text)
    return "".join(parts)
