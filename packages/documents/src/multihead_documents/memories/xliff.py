"""XLIFF 1.2 and 2.0 (https://docs.oasis-open.org/xliff/)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from multihead_documents.errors import DocumentError
from multihead_documents.memories.xliff_units import Languages, Part, Unit, xliff_units
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.xml.document import Parts, XmlDocument, prefix_of, start_tag
from multihead_documents.xml.events import Event, escape, xml_events

AUTHOR = "multihead"
"""Author of notes that are added."""
REVIEW = f"{AUTHOR}:needs-review"
"""Sub-state for XLIFF 2, which has no such state; custom values need a prefix."""


class Xliff(XmlDocument):
    """An XLIFF file. Targets are replaced or added, with their state."""

    kind = "xliff"

    def __init__(self, path: Path, data: bytes, target_language: str | None = None) -> None:
        super().__init__(path, data)
        self._units = list(xliff_units(xml_events([data], str(path)), str(path), self._encoding))
        first = self._units[0].languages if self._units else None
        self.source_language = first.source if first else None
        self.target_language = (first.target if first else None) or target_language
        self._version = first.version if first else 1
        self._prefix = prefix_of(self._text(first.start.span)) if first else ""
        self._parts: list[tuple[Unit, Part]] = []
        for unit in self._units:
            for part in unit.parts:
                self._add_part(unit, part)

    def _escape(self, text: str) -> bytes:
        if self._version == 1:
            return super()._escape(text)
        return self._bytes(escape(text, lambda letter: f'<{self._prefix}cp hex="{ord(letter):04X}"/>'))

    def _add_part(self, unit: Unit, part: Part) -> None:
        self._parts.append((unit, part))
        self._add(
            Segment(
                len(self.segments),
                part.inline.markup,
                f"{self.path}:{part.source.start.line}",
                target=part.translation,
                state=part.state,
                key=unit.key,
                note=unit.note,
                max_length=unit.max_length,
            )
        )

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[bytes]]:
        units: dict[int, dict[int, Translation]] = defaultdict(dict)
        for number, translation in translations.items():
            unit, part = self._parts[number]
            units[unit.element.start.span.start][part.source.start.span.start] = translation
        declared: dict[int, Languages] = {}
        for unit in self._units:
            changed = units.get(unit.element.start.span.start)
            if changed:
                declared[unit.languages.start.span.start] = unit.languages
                whole = unit.element.child("seg-source")
                yield from (
                    self._unit_edits(unit, changed) if whole is None else self._segment(unit, changed)
                )
                yield from self._note_edits(unit, [new.comment for new in changed.values() if new.comment])
        for languages in declared.values():
            yield from self._language_edit(languages)

    def _language_edit(self, languages: Languages) -> Iterator[Edit[bytes]]:
        """Declare the target language if the file does not."""
        if languages.target:
            return
        if self.target_language:
            changes = {languages.target_attribute: self.target_language}
            yield Edit(languages.start.span, [self._with_attributes(languages.start.span, changes)])
        elif languages.version == 2:
            place = f"{self.path}:{languages.start.line}"
            raise DocumentError(
                "no target language (trgLang)", place=place, remedy="Say which language it is for."
            )

    def _unit_edits(self, unit: Unit, changed: Mapping[int, Translation]) -> Iterator[Edit[bytes]]:
        for part in unit.parts:
            translation = changed.get(part.source.start.span.start)
            if translation is None:
                continue
            content = self._content(part.inline, translation)
            if unit.languages.version == 1:
                yield from self._target_edits(
                    part, part.source.start, part.source.end, content, _first(translation)
                )
                yield from self._disapproved(unit, translation.review)
                continue
            yield from self._target_edits(part, part.source.start, part.source.end, content, {})
            segment = _around(unit, part)
            changes = {"state": "translated", "subState": REVIEW if translation.review else None}
            yield Edit(segment.span, [self._with_attributes(segment.span, changes)])

    def _target_edits(
        self, part: Part, source: Event, end: int, content: Parts, state: Mapping[str, str | None]
    ) -> Iterator[Edit[bytes]]:
        """Fill the target of a part, or add one at ``end`` with the source's prefix and indentation."""
        target = part.target
        if target is None:
            tag = f"{prefix_of(self._text(source.span))}target"
            start = self._bytes(
                "".join([f"<{tag}", *(f' {key}="{value}"' for key, value in state.items()), ">"])
            )
            close = self._bytes(f"</{tag}>")
            yield Edit(Span(end, end), [self._indentation(source.span.start), start, *content, close])
            return
        start = self._with_attributes(target.start.span, state)
        if target.start.empty:
            tag = start_tag(start.decode(self._encoding))
            close = self._bytes(f"</{prefix_of(tag)}target>")
            yield Edit(target.start.span, [self._bytes(tag), *content, close])
            return
        if state:
            yield Edit(target.start.span, [start])
        yield Edit(target.content, content)

    def _segment(self, unit: Unit, changed: Mapping[int, Translation]) -> Iterator[Edit[bytes]]:
        """Fill the ``<mrk>`` of a segmented unit of XLIFF 1.2, or build a new target if one is missing."""
        changed_parts = [part for part in unit.parts if part.source.start.span.start in changed]
        review = any(changed[part.source.start.span.start].review for part in changed_parts)
        state = _first(Translation(changed_parts[0].inline.markup, review))
        whole, target = unit.element.child("seg-source"), unit.element.child("target")
        assert whole is not None
        if target is not None and all(part.target and not part.target.start.empty for part in changed_parts):
            for part in changed_parts:
                assert part.target
                yield Edit(
                    part.target.content, self._content(part.inline, changed[part.source.start.span.start])
                )
            yield Edit(target.start.span, [self._with_attributes(target.start.span, state)])
        else:
            content: Parts = []
            place = whole.content.start
            for part in unit.parts:
                content.append(Span(place, part.source.content.start))
                place = part.source.content.end
                if translation := changed.get(part.source.start.span.start):
                    content += self._content(part.inline, translation)
                elif part.target:
                    content.append(part.target.content)
            content.append(Span(place, whole.content.end))
            first = unit.parts[0]._replace(target=target)
            yield from self._target_edits(first, whole.start, whole.end, content, state)
        yield from self._disapproved(unit, review)

    def _note_edits(self, unit: Unit, comments: Sequence[str]) -> Iterator[Edit[bytes]]:
        """Replace our note of a unit."""
        children = {child.name: child for child in reversed(list(unit.element.children()))}
        first = unit.languages.version == 1
        mark = "from" if first else "category"
        notes = unit.element if first else children.get("notes")
        listed = [child for child in notes.children() if child.name == "note"] if notes else []
        ours = [note for note in listed if note.attributes.get(mark) == AUTHOR]
        if notes and not first and len(ours) == len(listed):
            ours, notes = [notes], None
        for element in ours:
            start = element.start.span.start
            yield Edit(Span(start - len(self._indentation(start)), element.end), [])
        if not comments:
            return
        x, text = self._prefix, self._escape("\n".join(comments))
        note = [self._bytes(f'<{x}note {mark}="{AUTHOR}">'), text, self._bytes(f"</{x}note>")]
        if first:
            last = next(children[name] for name in ("target", "seg-source", "source") if name in children)
            yield Edit(Span(last.end, last.end), [self._indentation(last.start.span.start), *note])
        elif notes:
            yield Edit(Span(notes.content.end, notes.content.end), note)
        else:
            names = ("originalData", "segment", "ignorable")
            place = min(children[name].start.span.start for name in names if name in children)
            note = [self._bytes(f"<{x}notes>"), *note, self._bytes(f"</{x}notes>")]
            yield Edit(Span(place, place), [*note, self._indentation(place)])

    def _disapproved(self, unit: Unit, review: bool) -> Iterator[Edit[bytes]]:
        """Revoke the approval of a unit whose new target needs review."""
        start = unit.element.start
        if review and start.attributes.get("approved") == "yes":
            yield Edit(start.span, [self._with_attributes(start.span, {"approved": "no"})])


def _first(translation: Translation) -> dict[str, str | None]:
    """Return the attributes of a target of XLIFF 1.2."""
    return {"state": "needs-review-translation" if translation.review else "translated"}


def _around(unit: Unit, part: Part) -> Event:
    """Return the start tag of the ``<segment>`` around a part of XLIFF 2."""
    return next(
        child.start for child in unit.element.children() if child.first < part.source.first < child.last
    )
