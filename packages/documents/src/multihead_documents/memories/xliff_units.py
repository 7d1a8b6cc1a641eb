"""Streaming parser of XLIFF 1.2 and 2.0."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from multihead_documents.errors import DocumentError
from multihead_documents.inline import Inline, trim
from multihead_documents.markup import Markup
from multihead_documents.segment import State
from multihead_documents.xml.events import Event
from multihead_documents.xml.inline import Element, Vocabulary, collect, items_of, target_markup

XLIFF_1 = Vocabulary(
    containers=("g", "mrk"),
    opening={"bpt": ("rid", "id"), "bx": ("rid", "id")},
    closing={"ept": ("rid", "id"), "ex": ("rid", "id")},
    ids=("id", "mid"),
    protected=(("mtype", "protected"), ("translate", "no")),
)
XLIFF_2 = Vocabulary(
    containers=("pc", "mrk"),
    opening={"sc": ("id",), "sm": ("id",)},
    closing={"ec": ("startRef", "id"), "em": ("startRef", "id")},
    ids=("id", "startRef"),
    protected=(("translate", "no"),),
)


@dataclass
class Languages:
    """Languages of the following units, declared by ``<file>`` (1.2) or ``<xliff>`` (2.0)."""

    start: Event
    version: int
    target_attribute: str
    source: str | None
    target: str | None


class Part(NamedTuple):
    """A segment of a unit: source and target."""

    source: Element
    target: Element | None
    inline: Inline
    """The source's content."""
    translation: Markup | None
    """The target's content."""
    state: State


@dataclass
class Unit:
    """A ``<trans-unit>`` (1.2) or ``<unit>`` (2.0)."""

    element: Element
    languages: Languages
    path: str
    encoding: str
    parts: list[Part] = field(default_factory=list)
    note: str = ""
    key: str = ""
    max_length: int | None = None


def xliff_units(events: Iterable[Event], path: str, encoding: str = "utf-8") -> Iterator[Unit]:
    """Yield the translatable units. Errors: see also :func:`xml_events`.

    Args:
        events: the file's.
        path: its name, for errors.
        encoding: its encoding, in which the lengths of texts are counted.

    Raises:
        DocumentError: not an XLIFF file of version 1 or 2.
    """
    stream = iter(events)
    languages: Languages | None = None
    translate = [True]
    for event in stream:
        if event.kind == "end":
            translate.pop()
        if event.kind != "start":
            continue
        if len(translate) == 1:
            languages = _root(event, path)
        assert languages
        flag = event.attributes.get("translate")
        translate.append(translate[-1] if flag is None else flag == "yes")
        if event.name == "file" and languages.version == 1:
            attributes = event.attributes
            languages = Languages(
                event,
                1,
                "target-language",
                attributes.get("source-language"),
                attributes.get("target-language"),
            )
        if event.name == ("trans-unit" if languages.version == 1 else "unit"):
            unit = Unit(collect(event, stream, path), languages, path, encoding)
            is_translatable = translate.pop()
            if is_translatable and languages.version == 1:
                _read_first(unit)
            elif is_translatable:
                _read_second(unit)
            if unit.parts:
                yield unit


def _root(event: Event, path: str) -> Languages:
    version = event.attributes.get("version", "")
    place = f"{path}:{event.line}"
    if event.name != "xliff":
        raise DocumentError(
            f"not an XLIFF file: it begins with <{event.name[:40]}>", place=place, remedy="Check it."
        )
    if version[:1] not in ("1", "2"):
        fact = f"XLIFF of version {version[:20]!r}"
        raise DocumentError(
            fact, place=place, remedy="Versions 1.x and 2.x are read: export it as one of them."
        )
    attributes = event.attributes
    return Languages(event, int(version[0]), "trgLang", attributes.get("srcLang"), attributes.get("trgLang"))


def _read_first(unit: Unit) -> None:
    """Read a unit of XLIFF 1.2, segmented (``<seg-source>``) or not."""
    children = {child.name: child for child in reversed(list(unit.element.children()))}
    attributes = unit.element.attributes
    unit.key = attributes.get("resname") or attributes.get("id", "")
    unit.note = "\n".join(c.text.strip() for c in unit.element.children() if c.name == "note")
    if attributes.get("size-unit") == "char":
        unit.max_length = _number(attributes.get("maxwidth"))
    source, target = children.get("source"), children.get("target")
    if source is None:
        return
    state = _first_state(target, attributes.get("approved") == "yes")
    segmented = list(_segments(children["seg-source"])) if "seg-source" in children else []
    if not segmented:
        _add_part(unit, source, target, state, XLIFF_1)
        return
    targets = {mark.attributes.get("mid"): mark for mark in _segments(target)} if target else {}
    for mark in segmented:
        other = targets.get(mark.attributes.get("mid"))
        filled = other is not None and other.text.strip()
        _add_part(unit, mark, other, state if filled else "new", XLIFF_1)


def _segments(element: Element) -> Iterator[Element]:
    """Yield the outermost ``<mrk mtype="seg">`` in an element."""
    begun = depth = 0
    for place in range(element.first + 1, element.last):
        event = element.events[place]
        if depth:
            depth += (event.kind == "start") - (event.kind == "end")
            if depth == 0:
                yield Element(element.events, begun, place)
        elif event.kind == "start" and event.name == "mrk" and event.attributes.get("mtype") == "seg":
            begun, depth = place, 1


def _first_state(target: Element | None, approved: bool) -> State:
    if target is None or not target.text.strip():
        return "new"
    state = target.attributes.get("state", "")
    if state in ("new", "needs-translation"):
        return "new"
    if state.startswith("needs-"):
        return "needs-review"
    return "final" if approved or state in ("final", "signed-off") else "translated"


def _read_second(unit: Unit) -> None:
    """Read a unit of XLIFF 2."""
    attributes = unit.element.attributes
    unit.key = attributes.get("name") or attributes.get("id", "")
    unit.max_length = _number(attributes.get("sizeRestriction"))
    notes = unit.element.child("notes")
    unit.note = "\n".join(child.text.strip() for child in notes.children()) if notes else ""
    for segment in unit.element.children():
        source = segment.child("source") if segment.name == "segment" else None
        if source is not None:
            target = segment.child("target")
            state = _second_state(target, segment.attributes)
            _add_part(unit, source, target, state, XLIFF_2)


def _second_state(target: Element | None, attributes: dict[str, str]) -> State:
    if target is None or not target.text.strip() or attributes.get("state") == "initial":
        return "new"
    if attributes.get("subState", "").endswith("needs-review"):
        return "needs-review"
    return "final" if attributes.get("state") in ("reviewed", "final") else "translated"


def _add_part(
    unit: Unit, source: Element, target: Element | None, state: State, vocabulary: Vocabulary
) -> None:
    items = items_of(source, vocabulary)
    inline = trim(
        items, f"{unit.path}:{source.start.line}", size=lambda text: len(text.encode(unit.encoding))
    )
    if inline:
        target_text = target_markup(items_of(target, vocabulary), inline) if target else None
        unit.parts.append(Part(source, target, inline, target_text, state))


def _number(value: str | None) -> int | None:
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 10 else None
