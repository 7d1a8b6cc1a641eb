"""Word documents (.docx): body text, tables, headers, footers, notes, text boxes and charts."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from multihead_documents.office import word_direction
from multihead_documents.office.archive_document import OpenParagraph
from multihead_documents.office.content import Content, content_of
from multihead_documents.office.package import SHOWN, OfficeDocument
from multihead_documents.office.package_changes import PackageChanges
from multihead_documents.office.runs import Paragraph
from multihead_documents.office.word_comments import Anchor, add_comments, anchor_at, anchors
from multihead_documents.segment import Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.xml.events import Event, xml_events

_TYPES = ("header+xml", "footer+xml", "footnotes+xml", "endnotes+xml")
_WORD = ("wordprocessingml/2006/main", "ooxml/wordprocessingml/main")


class WordContent(Content):
    """The content of a paragraph of a Word document, whose runs name their direction."""

    def _run(self, content: Span | str | bytes, properties: bytes | None) -> Iterator[bytes | Span]:
        if properties is not None and isinstance(content, bytes):
            properties = word_direction.direct(properties, content, self.prefix)
        return super()._run(content, properties)


class WordParagraph(Paragraph):
    """A paragraph of a Word document."""

    def content(self, end: int, place: str) -> Content | None:
        """Return its content at its end; None if it has no text."""
        return content_of(self, end, place, WordContent)


class WordDocument(OfficeDocument):
    """A Word document. Styles, images, link targets and comments are kept, and never opened."""

    kind = "docx"
    program = "Word"
    _main = ""

    def _text_parts(self) -> list[str]:
        main = self._main = self._main_part(("wordprocessingml", "ms-word"), "text")
        others = [name for name in self._archive.names if self._types.get(name, "").endswith(_TYPES)]
        return list(dict.fromkeys([main, *self._targets(main, SHOWN), *others]))

    def _turn(self, name: str, part: bytes, right_to_left: bool) -> bytes:
        if name not in self._parts:
            return part
        return word_direction.turn(super()._turn(name, part, right_to_left), right_to_left)

    def _begin_paragraph(self, event: Event, data: bytes) -> OpenParagraph | None:
        if event.name != "p" or not event.space.endswith(_WORD):
            return super()._begin_paragraph(event, data)
        self._refuse_other_encodings(data)
        return WordParagraph(event, data)

    def _edits(self, translations: Mapping[int, Translation]) -> dict[str, list[Edit[bytes]]]:
        edits = super()._edits(translations)
        for id, (anchor, _) in self._comments(translations).items():
            edits.setdefault(self._main, []).extend(anchor.comment(id))
        return edits

    def _changes(self, translations: Mapping[int, Translation]) -> dict[str, bytes]:
        changes = super()._changes(translations)
        if comments := self._comments(translations):
            package = PackageChanges(self._archive, changes, self._space)
            texts = {id: text for id, (_, text) in comments.items()}
            add_comments(package, self._main, self._targets(self._main, ("comments",)), texts)
        return changes

    def _comments(self, translations: Mapping[int, Translation]) -> dict[int, tuple[Anchor, str]]:
        """Return the comments of translations, with their anchors, by id.

        What is outside of the body, such as a header, is named in a comment on the first paragraph.
        """
        comments: list[tuple[Anchor, str]] = []
        for number, translation in sorted(translations.items()):
            if translation.comment and self._anchors:
                part, content = self._contents[number]
                anchor = anchor_at(self._anchors, content.span.start) if part == self._main else None
                place = "" if anchor else f"{self._inner_place(number)}: "
                comments.append((anchor or self._anchors[0], place + translation.comment))
        return dict(enumerate(comments, start=self._first_comment))

    @cached_property
    def _space(self) -> str:
        """Namespace of the text."""
        return self._root_space(self._main)

    @cached_property
    def _anchors(self) -> list[Anchor]:
        return list(anchors(xml_events([self._parts[self._main]], str(self.path)), self._space))

    @cached_property
    def _first_comment(self) -> int:
        """The first id above those of the document's comments."""
        ids = [0]
        for part in self._targets(self._main, ("comments",))[:1]:
            for attributes in self._attributes(part, "comment"):
                if re.fullmatch("[0-9]{1,9}", id := attributes.get("id", "")):
                    ids.append(int(id) + 1)
        return max(ids)
