"""Translation memories, TMX 1.4b (https://www.gala-global.org/tmx-14b)."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from multihead_documents.document import best_language
from multihead_documents.errors import DocumentError
from multihead_documents.inline import Inline, trim
from multihead_documents.memories.tmx_units import TMX, TranslationUnit, tmx_units
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.xml.document import XmlDocument, prefix_of, start_tag, with_attributes
from multihead_documents.xml.events import xml_events
from multihead_documents.xml.inline import Element, items_of, target_markup


class Tmx(XmlDocument):
    """A TMX file. Variants of the target language are replaced or added."""

    kind = "tmx"

    def __init__(
        self, path: Path, data: bytes, source_language: str | None = None, target_language: str | None = None
    ) -> None:
        super().__init__(path, data)
        units = list(tmx_units(xml_events([data], str(path)), str(path)))
        languages = list(dict.fromkeys(language for unit in units for language in unit.variants))
        source = source_language or next(
            (unit.source_language for unit in units if unit.source_language), None
        )
        if units and (source is None or best_language(source, languages) is None):
            fact = f"no segments in {source}" if source else "no source language (srclang)"
            remedy = f"Name one of {', '.join(languages[:20]) or 'none'}."
            raise DocumentError(fact, place=str(path), remedy=remedy)
        others = [language for language in languages if source and best_language(source, [language]) is None]
        self.source_language = source
        self.target_language = target_language or (others[0] if len(others) == 1 else None)
        self._variants: list[tuple[Element, Element | None, Inline]] = []
        for unit in units:
            self._add_unit(unit)

    def _add_unit(self, unit: TranslationUnit) -> None:
        assert self.source_language
        source, target = (
            unit.variants.get(best_language(language, list(unit.variants)) or "") if language else None
            for language in (self.source_language, self.target_language)
        )
        segment = source.child("seg") if source else None
        if source is None or segment is None or source is target:
            return
        items = items_of(segment, TMX)
        place = f"{self.path}:{segment.start.line}"
        inline = trim(items, place, size=self._size)
        if inline is None:
            return
        other = target.child("seg") if target else None
        translation = target_markup(items_of(other, TMX), inline) if other else None
        self._variants.append((source, other, inline))
        self._add(
            Segment(
                len(self.segments),
                inline.markup,
                place,
                target=translation,
                state="translated" if translation else "new",
                key=unit.key,
                note=unit.note,
            )
        )

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[bytes]]:
        for number, translation in translations.items():
            source, target, inline = self._variants[number]
            content = self._content(inline, translation)
            if target is None:
                yield from self._added(source, content)
            elif target.start.empty:
                tag = start_tag(self._text(target.start.span))
                close = f"</{prefix_of(tag)}seg>"
                yield Edit(target.start.span, [self._bytes(tag), *content, self._bytes(close)])
            else:
                yield Edit(target.content, content)

    def _added(self, source: Element, content: list[bytes | Span]) -> Iterator[Edit[bytes]]:
        """Add a variant after the source's, with its prefix, indentation and language attribute."""
        if not self.target_language:
            remedy = "Say which language the translations are in."
            raise DocumentError("no target language", place=str(self.path), remedy=remedy)
        tag = self._text(source.start.span)
        prefix = prefix_of(tag)
        name = "xml:lang" if "xml:lang" in tag else "lang"
        start = with_attributes(f"<{prefix}tuv>", {name: self.target_language}) + f"<{prefix}seg>"
        parts = [self._indentation(source.start.span.start), self._bytes(start)]
        yield Edit(
            Span(source.end, source.end), [*parts, *content, self._bytes(f"</{prefix}seg></{prefix}tuv>")]
        )
