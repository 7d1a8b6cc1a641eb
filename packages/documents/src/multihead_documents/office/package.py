"""Packages of Office documents (ECMA-376, part 2): parts and their types, shapes, charts, pictures."""

import posixpath
import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from multihead_documents.errors import DocumentError
from multihead_documents.office.alternative_text import HAVE_ALTERNATIVES, alternative_texts
from multihead_documents.office.archive_document import ArchiveDocument, OpenParagraph
from multihead_documents.office.drawing import DrawingParagraph, is_paragraph
from multihead_documents.office.odt import OdtParagraph
from multihead_documents.xml.events import Event, xml_encoding, xml_events

SHOWN = ("diagramData", "diagramDrawing", "chart", "chartEx")
"""Kinds of parts with text that are shown in another. SmartArt is shown from a drawing of its data."""
_CHART = ("drawingml/2006/chart", "ooxml/drawingml/chart")
_RELATION = re.compile(rb"""\s[^\s=<>"'/:]+:id\s*=\s*["']([^"']*)["']""")


class Relationship(NamedTuple):
    """A relationship of a part to another part."""

    kind: str
    """The last word of its type, which strict documents share: ``slide``."""
    target: str
    """The name of the other part."""


class OfficeDocument(ArchiveDocument):
    """A document of Office Open XML. All have texts of shapes and charts, and alternative texts, alike."""

    program = ""
    """The program that opens it."""
    copies_of_cells = True
    """True if charts show copies of cells that stand in no sheet of the document."""
    _holds_text = False
    """True in a chart's copies of cells with text."""

    @cached_property
    def _types(self) -> dict[str, str]:
        """Content type of each part that names its own."""
        overrides = self._attributes("[Content_Types].xml", "Override")
        return {
            attributes.get("PartName", "").lstrip("/"): attributes.get("ContentType", "")
            for attributes in overrides
        }

    def _main_part(self, spaces: Sequence[str], content: str) -> str:
        """Return the main part, with a type of one of these name spaces."""
        for name in self._archive.names:
            type_ = self._types.get(name, "")
            if ".main" in type_ and any(space in type_ for space in spaces):
                return name
        remedy = f"Is it a document of {self.program}'s? If so, save it again there."
        raise DocumentError(f"no {content} of {self.program}'s in it", place=str(self.path), remedy=remedy)

    def _root_space(self, part: str) -> str:
        """Return the namespace of a part's root."""
        events = xml_events([self._archive.read(part)], f"{self.path}:{part}")
        return next(event.space for event in events if event.kind == "start")

    def _related(self, part: str) -> dict[str, Relationship]:
        """Return the relationships of a part to parts of the document, by their ids."""
        folder, name = posixpath.split(part)
        relationships = posixpath.join(folder, "_rels", f"{name}.rels")
        if relationships not in self._archive:
            return {}
        return {
            attributes.get("Id", ""): Relationship(
                attributes.get("Type", "").rpartition("/")[2],
                self._archive.resolve(folder, attributes.get("Target", "")),
            )
            for attributes in self._attributes(relationships, "Relationship")
            if attributes.get("TargetMode") != "External"
        }

    def _targets(self, part: str, kinds: Sequence[str]) -> list[str]:
        """Return the parts of these kinds that a part refers to, kind by kind."""
        related = self._related(part).values()
        return list(
            dict.fromkeys(target for kind in kinds for target_kind, target in related if target_kind == kind)
        )

    def _list(self, part: str, element: str, kind: str) -> list[tuple[dict[str, str], str]]:
        """Return the attributes of the elements of a part that refer to other parts, and these parts.

        Args:
            part: the part.
            element: name of the elements.
            kind: kind of the parts; others are left out.

        Raises:
            DocumentError: an element refers to no part.
        """
        related = self._related(part)
        listed: list[tuple[dict[str, str], str]] = []
        for event in self._starts(part, element):
            match = _RELATION.search(event.raw)
            relationship = related.get(match[1].decode(errors="replace")) if match else None
            if relationship is None:
                fact = f"<{element}> refers to no part of the document"
                remedy = "Save it again in the program that made it."
                raise DocumentError(fact, place=f"{self.path}:{part}:{event.line}", remedy=remedy)
            if relationship.kind == kind:
                listed.append((event.attributes, relationship.target))
        return listed

    def _enter(self, event: Event) -> None:
        if event.name in HAVE_ALTERNATIVES:
            place = f"{self.path}:{self._reading}:{event.line}"
            for content in alternative_texts(event, place):
                self._add_content(self._reading, content, place)

    def _begin_paragraph(self, event: Event, data: bytes) -> OpenParagraph | None:
        if is_paragraph(event):
            self._refuse_other_encodings(data)
            return DrawingParagraph(event, data)
        if not event.space.endswith(_CHART):
            return None
        if event.name.endswith(("Cache", "Lit")):
            self._holds_text = self.copies_of_cells and "str" in event.name.lower()
        if event.name != "v" or not self._holds_text:
            return None
        self._refuse_other_encodings(data)
        return OdtParagraph("utf-8")

    def _refuse_other_encodings(self, data: bytes) -> None:
        """Refuse a part in another encoding than UTF-8."""
        if not xml_encoding(data).lower().startswith("utf-8"):
            raise DocumentError("not UTF-8", place=str(self.path), remedy=f"Save it again in {self.program}.")
