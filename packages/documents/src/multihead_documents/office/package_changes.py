"""Parts that are added to an Office package, or extended (ECMA-376, part 2, sec. 6.5 and 7.2)."""

import posixpath
import re
from collections.abc import Callable
from itertools import count

from multihead_documents.archive import Archive
from multihead_documents.errors import DocumentError
from multihead_documents.splice import Edit, Span, splice
from multihead_documents.xml.document import prefix_of, start_tag
from multihead_documents.xml.events import Event, xml_encoding, xml_events

DECLARATION = b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
AUTHOR = "multihead"
"""Author of the comments that are added."""
_TYPES = "[Content_Types].xml"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_TRANSITIONAL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STRICT = "http://purl.oclc.org/ooxml/officeDocument/relationships"


class PackageChanges:
    """A package and its changed parts.

    Args:
        archive: the package.
        changes: content of changed parts by name; those that are added or extended join it.
        space: namespace of the document's elements, which tells a strict document from others.
    """

    def __init__(self, archive: Archive, changes: dict[str, bytes], space: str) -> None:
        self._archive, self.changes, self.space = archive, changes, space
        self.relationships = _STRICT if space.startswith("http://purl.oclc.org/") else _TRANSITIONAL

    def read(self, name: str) -> bytes:
        """Return the content of a part as it is now.

        Raises:
            DocumentError: there is none, or it is not UTF-8.
        """
        data = self.changes[name] if name in self.changes else self._archive.read(name)
        if not xml_encoding(data).lower().startswith("utf-8"):
            raise self.error(name, "not UTF-8")
        return data

    def add(self, owner: str, kind: str, name: str, content_type: str, content: bytes) -> str:
        """Add a part, and a relationship to it; return the id of the relationship.

        Args:
            owner: the part that it belongs to.
            kind: last word of the relationship's type, such as ``comments``.
            name: its name, with ``{}`` for a number that is free.
            content_type: its type.
            content: its content.
        """
        taken = {part.lower() for part in (*self._archive.names, *self.changes)}
        part = next(part for number in count(1) if (part := name.format(number)).lower() not in taken)
        self.changes[part] = content
        self.append(
            _TYPES, "Types", lambda x: f'<{x}Override PartName="/{part}" ContentType="{content_type}"/>'
        )
        folder, base = posixpath.split(owner)
        listing = posixpath.join(folder, "_rels", f"{base}.rels")
        if listing not in self._archive and listing not in self.changes:
            self.changes[listing] = DECLARATION + f'<Relationships xmlns="{_PACKAGE}"/>'.encode()
        listed = self.read(listing)
        id = next(id for number in count(1) if (id := f"review{number}").encode() not in listed)
        type_ = f"{self.relationships}/{kind}"
        self.append(
            listing,
            "Relationships",
            lambda x: f'<{x}Relationship Id="{id}" Type="{type_}" Target="/{part}"/>',
        )
        return id

    def append(self, name: str, parent: str, child: Callable[[str], str]) -> None:
        """Add a last child to the first element of this name in a part.

        Args:
            name: the part.
            parent: name of the element.
            child: spells the child with the namespace prefix of its parent.

        Raises:
            DocumentError: the part has no such element.
        """
        data = self.read(name)
        depth, begun = 0, None
        for event in xml_events([data], f"{self._archive.path}:{name}"):
            if event.kind == "start":
                if begun is None and event.name == parent:
                    begun = event, depth
                depth += 1
            elif event.kind == "end":
                depth -= 1
                if begun and depth == begun[1]:
                    spelled = child(prefix_of(begun[0].raw.decode())).encode()
                    self.changes[name] = splice(data, [last_child(begun[0], event, spelled)])
                    return
        raise self.error(name, f"no <{parent}>")

    def error(self, name: str, fact: str) -> DocumentError:
        """Return the error of a part that cannot be extended."""
        remedy = "Save the document again in the program that made it."
        return DocumentError(fact, place=f"{self._archive.path}:{name}", remedy=remedy)


def last_child(start: Event, end: Event, child: bytes) -> Edit[bytes]:
    """Return the edit that adds a last child to an element with this start and end tag."""
    if not start.empty:
        return Edit(Span(end.span.start, end.span.start), [child])
    tag = start.raw.decode()
    name = re.match(r"<([^\s/>]+)", tag)
    assert name, "a start tag"
    return Edit(start.span, [start_tag(tag).encode(), child, f"</{name[1]}>".encode()])
