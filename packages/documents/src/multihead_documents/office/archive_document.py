"""Office documents: archives of XML parts with paragraphs, possibly nested."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from multihead_documents.archive import Archive
from multihead_documents.document import Document
from multihead_documents.errors import DocumentError
from multihead_documents.inline import Inline
from multihead_documents.markup import Markup
from multihead_documents.office import direction as office_direction
from multihead_documents.office import languages as office_languages
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span, splice
from multihead_documents.writing import is_right_to_left
from multihead_documents.xml.events import Event, xml_events

_DESCRIPTIONS = re.compile(f"{office_languages.PARTS.pattern}|{office_direction.PARTS.pattern}")
"""Parts that say something of texts in others."""
MAX_DEPTH = 30
"""Nesting limit of paragraphs, as in notes and text boxes."""


class Content(Protocol):
    """The content of a paragraph that has text."""

    @property
    def inline(self) -> Inline:
        """Its texts and tags."""
        ...

    @property
    def span(self) -> Span:
        """The span that a translation replaces."""
        ...

    def parts(self, translation: Markup) -> list[bytes | Span]:
        """Return the replacement."""
        ...


class OpenParagraph(Protocol):
    """A paragraph that is still being parsed."""

    @property
    def in_opaque(self) -> bool:
        """True inside an opaque element (a note, a drawing); paragraphs in it are separate segments."""
        ...

    def start(self, event: Event, depth: int) -> None:
        """Take the start of an element, at this depth in the file."""
        ...

    def end(self, event: Event, depth: int) -> None:
        """Take the end of an element."""
        ...

    def text(self, event: Event) -> None:
        """Take a text."""
        ...

    def content(self, end: int, place: str) -> Content | None:
        """Return its content at its end; None if it has no text."""
        ...


class ArchiveDocument(Document):
    """A document with text in some XML parts of an archive; all other members are kept."""

    max_length: int | None = None
    """Length limit of a segment in characters."""

    def __init__(
        self, path: Path, source_language: str | None = None, target_language: str | None = None
    ) -> None:
        super().__init__(path)
        self.languages = source_language, target_language
        """Languages that are written where an office document names its own; an e-book has its own way."""
        self._archive = Archive(path)
        self._parts: dict[str, bytes] = {}
        self._contents: dict[int, tuple[str, Content]] = {}
        """Part and content of each segment."""
        self._reading = ""
        """The part that is being read."""
        self._companions: dict[int, tuple[str, Edit[bytes]]] = {}
        """Edits elsewhere that the translation of a segment entails."""
        for name in self._text_parts():
            self._parts[name] = self._archive.read(name)
            self._read(name)

    @abstractmethod
    def _text_parts(self) -> list[str]:
        """Return the names of the parts with text."""

    @abstractmethod
    def _begin_paragraph(self, event: Event, data: bytes) -> OpenParagraph | None:
        """Return a new paragraph if this start tag begins one."""

    def _hides(self, event: Event) -> bool:
        """Return True for an element whose paragraphs are not body text."""
        return False

    def _enter(self, event: Event) -> None:
        """Take note of the start of an element that is not hidden."""

    def _read(self, name: str) -> None:
        self._reading = name
        data = self._parts[name]
        opened: list[tuple[OpenParagraph, int]] = []
        depth = count = 0
        hidden: int | None = None
        for event in xml_events([data], f"{self.path}:{name}"):
            if event.kind == "start":
                if hidden is None:
                    self._enter(event)
                if opened and not opened[-1][0].in_opaque:
                    opened[-1][0].start(event, depth)
                elif hidden is None and (paragraph := self._begin_paragraph(event, data)):
                    opened.append((paragraph, depth))
                    if len(opened) > MAX_DEPTH:
                        fact = f"more than {MAX_DEPTH} paragraphs inside one another"
                        remedy = "Save it again in the program that made it."
                        raise DocumentError(fact, place=f"{self.path}:{name}", remedy=remedy)
                if hidden is None and self._hides(event):
                    hidden = depth
                depth += 1
            elif event.kind == "end":
                depth -= 1
                hidden = None if depth == hidden else hidden
                if opened and depth == opened[-1][1]:
                    count += 1
                    self._add_paragraph(name, opened.pop()[0], event, count)
                elif opened:
                    opened[-1][0].end(event, depth)
            elif event.kind == "text" and opened:
                opened[-1][0].text(event)

    def _add_paragraph(self, name: str, paragraph: OpenParagraph, end: Event, count: int) -> None:
        place = self._place(name, count)
        content = paragraph.content(end.span.start, place)
        if content:
            self._add_content(name, content, place)

    def _add_content(self, name: str, content: Content, place: str) -> None:
        self._contents[len(self.segments)] = name, content
        source = content.inline.markup.collapsed()
        self._add(Segment(len(self.segments), source, place, max_length=self.max_length))

    def _place(self, name: str, count: int) -> str:
        """Return the place of a paragraph in a part, counted from 1."""
        return f"{self.path}:{name}, paragraph {count}"

    def _inner_place(self, number: int) -> str:
        """Return the place of a segment without the document's path, which a document should not tell."""
        return self.segments[number].place.removeprefix(f"{self.path}:")

    def _render(self, translations: Mapping[int, Translation]) -> bytes:
        changes = self._changes(translations)
        source, target = self.languages
        if changes and source and target:
            right_to_left = is_right_to_left(target)
            turns = is_right_to_left(source) != right_to_left
            for name in self._archive.names:
                if not (name in self._parts or _DESCRIPTIONS.search(name)):
                    continue
                old = changes[name] if name in changes else self._archive.read(name)
                part = office_languages.replace_language(old, source, target)
                part = self._turn(name, part, right_to_left) if turns else part
                if part != old:
                    changes[name] = part
        return self._archive.rewritten(changes)

    def _turn(self, name: str, part: bytes, right_to_left: bool) -> bytes:
        """Return a part written in the other direction."""
        return office_direction.turn(part, right_to_left)

    def _changes(self, translations: Mapping[int, Translation]) -> dict[str, bytes]:
        """Return the parts that these translations change."""
        edits = self._edits(translations)
        return {name: splice(self._parts[name], part_edits) for name, part_edits in edits.items()}

    def _edits(self, translations: Mapping[int, Translation]) -> dict[str, list[Edit[bytes]]]:
        """Return the edits of each part."""
        edits: dict[str, list[Edit[bytes]]] = {}
        for number, translation in translations.items():
            name, content = self._contents[number]
            edits.setdefault(name, []).append(Edit(content.span, content.parts(translation.target)))
            if number in self._companions:
                name, edit = self._companions[number]
                edits.setdefault(name, []).append(edit)
        return edits

    def _starts(self, name: str, element: str) -> Iterator[Event]:
        """Yield the start of each element with this name in a member."""
        for event in xml_events([self._archive.read(name)], f"{self.path}:{name}"):
            if event.kind == "start" and event.name == element:
                yield event

    def _attributes(self, name: str, element: str) -> Iterator[dict[str, str]]:
        """Yield the attributes of each element with this name in a member."""
        for event in self._starts(name, element):
            yield event.attributes
