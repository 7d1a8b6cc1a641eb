"""Streaming parser of TMX 1.4 and older."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from multihead_documents.errors import DocumentError
from multihead_documents.xml.events import Event
from multihead_documents.xml.inline import Element, Vocabulary, collect

TMX = Vocabulary(containers=("hi",), opening={"bpt": ("i",)}, closing={"ept": ("i",)}, ids=("x", "i", "type"))


@dataclass
class TranslationUnit:
    """A ``<tu>``: variants by language code, and the source language of the file."""

    element: Element
    variants: Mapping[str, Element]
    source_language: str | None

    @property
    def key(self) -> str:
        """Its id, "" if none."""
        return self.element.attributes.get("tuid", "")

    @property
    def note(self) -> str:
        """Its notes, one a line."""
        return "\n".join(child.text.strip() for child in self.element.children() if child.name == "note")


def tmx_units(events: Iterable[Event], path: str) -> Iterator[TranslationUnit]:
    """Yield the units of a TMX file. Errors: see also :func:`xml_events`.

    Raises:
        DocumentError: not a TMX file; a variant without a language.
    """
    stream = iter(events)
    depth = 0
    language: str | None = None
    for event in stream:
        if event.kind == "end":
            depth -= 1
        if event.kind != "start":
            continue
        if depth == 0 and event.name != "tmx":
            fact = f"not a TMX file: it begins with <{event.name[:40]}>"
            raise DocumentError(fact, place=f"{path}:{event.line}", remedy="Check it.")
        if event.name == "header":
            language = event.attributes.get("srclang")
            language = None if language == "*all*" else language
        if event.name != "tu":
            depth += 1
            continue
        unit = collect(event, stream, path)
        unit_language = unit.attributes.get("srclang", language)
        yield TranslationUnit(
            unit, _variants(unit, path), None if unit_language == "*all*" else unit_language
        )


def _variants(unit: Element, path: str) -> dict[str, Element]:
    """Return the first variant with a segment of each language."""
    variants: dict[str, Element] = {}
    for child in unit.children():
        if child.name != "tuv" or child.child("seg") is None:
            continue
        language = child.attributes.get("lang")
        if not language:
            place = f"{path}:{child.start.line}"
            raise DocumentError("a <tuv> without xml:lang", place=place, remedy="Add the language.")
        variants.setdefault(language, child)
    return variants
