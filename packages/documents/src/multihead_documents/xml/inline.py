"""Inline elements of translation formats (XLIFF, TMX) as tags."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from multihead_documents.errors import DocumentError
from multihead_documents.inline import Inline, Item, pair_tags
from multihead_documents.markup import Kind, Markup, Piece, Tag
from multihead_documents.splice import Span
from multihead_documents.xml.events import Event

MAX_EVENTS = 200_000
MAX_BYTES = 16 << 20
"""Limits of a translation unit."""


@dataclass(frozen=True)
class Vocabulary:
    """Inline elements of a format: ``containers`` hold text; all others are opaque codes."""

    containers: Collection[str]
    opening: Mapping[str, Sequence[str]]
    """Codes that open a pair, and the attributes with its id, in order of preference."""
    closing: Mapping[str, Sequence[str]]
    ids: Sequence[str]
    """Attributes that identify a tag in source and target, in order of preference."""
    protected: Collection[tuple[str, str]] = ()
    """Attribute values that exclude a container from translation."""


class Element(NamedTuple):
    """An element of a unit: ``events[first]`` is its start tag, ``events[last]`` its end tag."""

    events: Sequence[Event]
    first: int
    last: int

    @property
    def start(self) -> Event:
        """Its start tag."""
        return self.events[self.first]

    @property
    def name(self) -> str:
        """Its name without prefix."""
        return self.start.name

    @property
    def attributes(self) -> dict[str, str]:
        """Its attributes."""
        return self.start.attributes

    @property
    def content(self) -> Span:
        """Span of its content."""
        return Span(self.start.span.end, self.events[self.last].span.start)

    @property
    def end(self) -> int:
        """Offset after its end tag."""
        return self.events[self.last].span.end

    @property
    def text(self) -> str:
        """Its text content."""
        return "".join(event.text for event in self.events[self.first : self.last])

    def children(self) -> "Iterator[Element]":
        """Yield its child elements."""
        depth, begun = 0, 0
        for place in range(self.first + 1, self.last):
            kind = self.events[place].kind
            if kind == "start":
                begun = place if depth == 0 else begun
                depth += 1
            elif kind == "end":
                depth -= 1
                if depth == 0:
                    yield Element(self.events, begun, place)

    def child(self, name: str) -> "Element | None":
        """Return its first child with this name."""
        return next((child for child in self.children() if child.name == name), None)


def collect(start: Event, events: Iterator[Event], path: str) -> Element:
    """Collect the events of an element from the stream.

    Raises:
        DocumentError: too many events, or too large.
    """
    found = [start]
    depth = 1
    for event in events:
        found.append(event)
        depth += (event.kind == "start") - (event.kind == "end")
        if depth == 0:
            break
        if len(found) > MAX_EVENTS or event.span.end - start.span.start > MAX_BYTES:
            fact = f"<{start.name}> with more than {MAX_EVENTS:,} tags or {MAX_BYTES >> 20} MiB"
            raise DocumentError(fact, place=f"{path}:{start.line}", remedy="Split it.")
    return Element(found, 0, len(found) - 1)


def items_of(element: Element, vocabulary: Vocabulary) -> list[Item]:
    """Return the paired items of an element's content."""
    items: list[Item] = []
    depth = 0
    code: list[Event] = []
    for event in element.events[element.first + 1 : element.last]:
        if code:  # inside a code: nothing of it is text
            depth += (event.kind == "start") - (event.kind == "end")
            code.append(event)
        elif event.kind == "text":
            items.append(Item(event.text, event.span))
        elif event.kind in ("start", "end"):
            if event.name in vocabulary.containers and not (event.empty or _is_protected(event, vocabulary)):
                kind: Kind = "open" if event.kind == "start" else "close"
                items.append(Item(_tag(vocabulary, [event], kind), event.span))
            else:
                code, depth = [event], 1
        if code and depth == 0:
            items.append(_code(vocabulary, code))
            code = []
    return pair_tags(items)


def _is_protected(event: Event, vocabulary: Vocabulary) -> bool:
    return event.kind == "start" and any(
        event.attributes.get(key) == value for key, value in vocabulary.protected
    )


def _tag(vocabulary: Vocabulary, events: Sequence[Event], kind: Kind, pair: str = "") -> Tag:
    attributes = events[0].attributes
    raw = b"".join(event.raw for event in events).decode(errors="replace")
    identifier = next((attributes[name] for name in vocabulary.ids if attributes.get(name)), None)
    text = attributes.get("equiv-text") or attributes.get("equiv") or ""
    return Tag(pair, kind, events[0].name, raw, text, f"{events[0].name} {identifier or raw}")


def _code(vocabulary: Vocabulary, events: Sequence[Event]) -> Item:
    start = events[0]
    span = Span(start.span.start, events[-1].span.end)
    if start.name == "cp" and "hex" in start.attributes:  # XLIFF 2: a character that XML cannot hold
        return Item(_character(start.attributes["hex"]), span)
    kind: Kind = (
        "open"
        if start.name in vocabulary.opening
        else "close"
        if start.name in vocabulary.closing
        else "alone"
    )
    names = vocabulary.opening.get(start.name) or vocabulary.closing.get(start.name, ())
    pair = next((start.attributes[name] for name in names if start.attributes.get(name)), "")
    return Item(_tag(vocabulary, events, kind, f"code {pair}" if names else ""), span)


def _character(code: str) -> str:
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        return "\ufffd"


def target_markup(target: Iterable[Item], source: Inline) -> Markup | None:
    """Return a target's content, with tag ids matched to the source's; None if it is blank.

    Args:
        target: its items.
        source: the source; tags in its lead and trail are dropped.
    """
    known: dict[tuple[str, str], list[str]] = defaultdict(list)
    outer = [item.piece for item in (*source.lead, *source.trail) if isinstance(item.piece, Tag)]
    around = set(outer)
    for tag in reversed([*outer, *source.tags]):
        known[tag.key, tag.kind].append(tag.id)
    count = sum(map(len, known.values()))
    ids: dict[tuple[str, bool], str] = {}
    result: list[Piece] = []
    for piece, _ in target:
        if isinstance(piece, str):
            result.append(piece)
            continue
        name = piece.id, piece.kind == "alone"
        if name not in ids:
            same = known[piece.key, piece.kind]
            count += not same
            ids[name] = same.pop() if same else str(count)
        if (tag := piece.rename(ids[name], piece.kind)) not in around:
            result.append(tag)
    return Markup.of(*result).strip() or None
