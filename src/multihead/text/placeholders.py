"""Placeholders: parts of a text that must survive translation are carried through it as reserved symbols.

``protect`` puts symbols in their places (``text.symbols``); ``restore`` puts them back, and reports whatever
was lost, doubled or out of order: nothing is dropped in silence.

    >>> protected = protect("Delete <b>{count}</b> of 1.234,56 €?")
    >>> protected.text
    'Delete <g0><ph0></g0> of <ph1>?'
    >>> restore("<ph1> aus <g0><ph0></g0> löschen?", protected.table).text
    '1.234,56 € aus <b>{count}</b> löschen?'
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import regex

from multihead.text import symbols
from multihead.text.placeholder_patterns import DEFAULT, KINDS, Kind, PlaceholderSpan, find
from multihead.text.symbols import PAIRS, PLACEHOLDERS, STANDALONE, STANDARD

_VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
"""Elements of HTML that are never closed."""
_LOOKED_UP = 100
"""Maximum number of texts searched for one by one, each in linear time."""
_TAG = regex.compile(r"<(?P<close>/?)(?P<name>[A-Za-z0-9][\w:.-]*+)?")


class PlaceholderEntry(NamedTuple):
    """A symbol, and the span that it stands for."""

    symbol: str
    span: PlaceholderSpan


@dataclass(frozen=True)
class PlaceholderTable:
    """The symbols of a protected text, and the spans that stayed.

    Attributes:
        entries: symbols and spans, in the order of the text.
        left: spans that stayed in the text for lack of symbols.
    """

    entries: tuple[PlaceholderEntry, ...] = ()
    left: tuple[PlaceholderSpan, ...] = ()


class FoundTag(NamedTuple):
    """A tag that a text spells, ``text[start:end]``."""

    start: int
    end: int
    text: str
    name: str
    closing: bool
    alone: bool


class Protected(NamedTuple):
    """Marked text, and the table of its symbols."""

    text: str
    table: PlaceholderTable


@dataclass(frozen=True)
class PlaceholderReport:
    """Differences between the placeholders of a translation and those of its source.

    Attributes:
        lost: texts missing from the translation.
        doubled: texts more frequent than in the source.
        foreign: symbols that stand for nothing, which were left out.
        moved: the fewest texts that explain a changed order, which is often correct.
        crossed: closing tags that do not match the last one opened, and tags never closed.
    """

    lost: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    crossed: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """True if every placeholder is there once and tags are nested; order does not count."""
        return not (self.lost or self.doubled or self.foreign or self.crossed)


class Restored(NamedTuple):
    """A text with its placeholders restored, and a report of what is wrong."""

    text: str
    report: PlaceholderReport


def protect(
    text: str,
    reserved: Collection[str] = STANDARD,
    kinds: Collection[Kind] = DEFAULT,
    without: Collection[str] = (),
    unknown: Sequence[PlaceholderSpan] = (),
) -> Protected:
    """Replace placeholders by symbols, and escape the rest (``symbols.escape``).

    A pair of tags becomes ``<g0>`` and ``</g0>``, a single tag ``<x0/>``, all else ``<ph0>``, and so do tags
    once those run out. ``restore`` undoes it.

    Args:
        text: plain text.
        reserved: the symbols that may be used, ``Tokenizer.symbols``.
        kinds: the kinds to replace.
        without: kinds and shapes (``PlaceholderSpan.shape``) that stay in the text, unchecked.
        unknown: words that the vocabulary cannot spell (``text.unknown_words``), replaced too.
    """
    spans = find(text, kinds, without, unknown)
    names = _symbols_of(spans, reserved)
    entries, left, parts = [], [], []
    end = 0
    for span, name in zip(spans, names, strict=True):
        if not name:
            left.append(span)
            continue
        entries.append(PlaceholderEntry(name, span))
        parts += [symbols.escape(text[end : span.start]), name]
        end = span.end
    parts.append(symbols.escape(text[end:]))
    return Protected("".join(parts), PlaceholderTable(tuple(entries), tuple(left)))


def restore(text: str, table: PlaceholderTable) -> Restored:
    """Put placeholders back into marked text, the translation of what ``protect`` returned.

    Args:
        text: marked text; symbols of other kinds than placeholders and tags are foreign in it too.
        table: the source's table.
    """
    originals = {entry.symbol: entry.span.text for entry in table.entries}
    parts = list(symbols.split(text))
    order = [part for part, is_symbol in parts if is_symbol]
    placed = [part for part in order if part in originals]
    plain = "".join(part for part, is_symbol in parts if not is_symbol)
    counts = Counter(placed)
    report = PlaceholderReport(
        lost=(*(originals[name] for name in originals if not counts[name]), *_missing(table.left, plain)),
        doubled=tuple(originals[name] for name, count in counts.items() if count > 1),
        foreign=tuple(dict.fromkeys(name for name in order if name not in originals)),
        moved=tuple(originals[name] for name in _move([*counts], [*originals])),
        crossed=tuple(originals[name] for name in _crossing_tags(placed)),
    )
    restored = (originals.get(part, "") if is_symbol else part for part, is_symbol in parts)
    return Restored("".join(restored), report)


def find_tags(text: str) -> list[FoundTag]:
    """Return the inline tags that a plain text spells, in order; self-closing ones are alone."""
    tags = []
    for span in find(text, frozenset(("tag",))):
        tag = _TAG.match(span.text)
        name = (tag["name"] or "").lower() if tag else ""
        alone = not name or span.text.endswith("/>") or name in _VOID
        closing = bool(tag and tag["close"]) and not alone
        tags.append(FoundTag(span.start, span.end, span.text, name, closing, alone))
    return tags


def _symbols_of(spans: Sequence[PlaceholderSpan], reserved: Collection[str]) -> list[str]:
    """Return a symbol for each span, "" if none is left."""
    pairs = [pair for pair in PAIRS if pair[0] in reserved and pair[1] in reserved][::-1]
    single = [name for name in STANDALONE if name in reserved][::-1]
    others = [name for name in PLACEHOLDERS if name in reserved][::-1]
    closing = partners(map(_name, spans))
    paired = {*closing, *closing.values()}
    names = [""] * len(spans)
    for place, span in enumerate(spans):
        if names[place]:
            continue
        if place in closing and pairs:
            names[place], names[closing[place]] = pairs.pop()
        elif span.kind == "tag" and place not in paired and single:
            names[place] = single.pop()
        elif others:
            names[place] = others.pop()
    return names


def _name(span: PlaceholderSpan) -> tuple[str, bool] | None:
    """Return the name of a paired tag, and whether it closes; None for all else."""
    tag = _TAG.match(span.text) if span.kind == "tag" else None
    if tag is None or not tag["name"] or span.text.endswith("/>") or tag["name"].lower() in _VOID:
        return None
    return tag["name"], bool(tag["close"])


def partners(names: Iterable[tuple[str, bool] | None]) -> dict[int, int]:
    """Return the closing tag of each opening tag that has one, both by their places.

    Args:
        names: the name of each tag, and whether it closes; None without a partner.
    """
    closing: dict[int, int] = {}
    opened: list[tuple[int, str]] = []
    counts: Counter[str] = Counter()
    for place, named in enumerate(names):
        if named is None:
            continue
        name, closes = named
        if not closes:
            opened.append((place, name))
            counts[name] += 1
        elif counts[name]:
            while opened[-1][1] != name:  # never closed: standalone
                counts[opened.pop()[1]] -= 1
            closing[opened.pop()[0]] = place
            counts[name] -= 1
    return closing


def _missing(left: Iterable[PlaceholderSpan], text: str) -> list[str]:
    """Return the texts of spans that occur too seldom in a text."""
    counts = Counter(span.text for span in left)
    if not counts:
        return []
    lacking = counts - Counter(span.text for span in find(text, KINDS))
    if len(lacking) <= _LOOKED_UP:  # in another context it may have another kind
        lacking = Counter({span: max(0, counts[span] - text.count(span)) for span in lacking})
    return list(lacking.elements())


def _move(names: Sequence[str], order: Sequence[str]) -> list[str]:
    """Return the fewest names to remove so that the rest are in order (patience sorting)."""
    place = {name: number for number, name in enumerate(order)}
    lasts: list[int] = []
    before: list[int | None] = []
    ends: list[int] = []
    numbers = [place[name] for name in names]
    for index, number in enumerate(numbers):
        pile = bisect_left(lasts, number)
        before.append(ends[pile - 1] if pile else None)
        lasts[pile : pile + 1], ends[pile : pile + 1] = [number], [index]
    longest: set[int] = set()
    index_or_none = ends[-1] if ends else None
    while index_or_none is not None:
        longest.add(index_or_none)
        index_or_none = before[index_or_none]
    return [name for index, name in enumerate(names) if index not in longest]


def _crossing_tags(names: Iterable[str]) -> list[str]:
    """Return the tags that break the nesting of pairs."""
    closing: Mapping[str, str] = dict(PAIRS)
    ends = set(closing.values())
    opened: list[str] = []
    wrong: list[str] = []
    for name in names:
        if name in closing:
            opened.append(name)
        elif name in ends:
            if opened and closing[opened[-1]] == name:
                opened.pop()
            else:
                wrong.append(name)
    return [*wrong, *opened]
