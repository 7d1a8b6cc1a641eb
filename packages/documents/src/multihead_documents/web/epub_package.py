"""The package of an e-book: its chapters in reading order, its language (EPUB 3.3, sec. 5)."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from multihead_documents.archive import Archive
from multihead_documents.errors import DocumentError
from multihead_documents.splice import Span
from multihead_documents.xml.events import Event, xml_events

CONTAINER = "META-INF/container.xml"
DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = frozenset(("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"))
"""Algorithms that only obfuscate fonts (EPUB 3.3, sec. 4.4)."""
_PAGES = frozenset(("application/xhtml+xml", "text/html", "text/x-oeb1-document"))
_NCX = "application/x-dtbncx+xml"


@dataclass
class Package:
    """A package document.

    Attributes:
        name: its name in the archive.
        pages: pages of XHTML in reading order, then those outside of it, such as the navigation.
        tables: tables of contents as EPUB 2 has them.
        languages: span and text of each language that it names.
        order: the start tag around its chapters, which may say from which side pages are turned; None in
            EPUB 2, where it may not.
    """

    name: str
    pages: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    languages: list[tuple[Span, str]] = field(default_factory=list)
    order: Event | None = None


def packages(archive: Archive) -> list[Package]:
    """Read the package documents of an e-book.

    Raises:
        DocumentError: it is not an e-book, or protected against copying.
    """
    if CONTAINER not in archive:
        remedy = "Is it an e-book? If so, save it again in the program that made it."
        raise DocumentError(f"no {CONTAINER} in it", place=str(archive.path), remedy=remedy)
    for event in _starts(archive, _ENCRYPTION) if _ENCRYPTION in archive else ():
        if event.name == "EncryptionMethod" and event.attributes.get("Algorithm") not in _FONTS:
            remedy = "Only an edition without it can be translated."
            raise DocumentError("encrypted against copying (DRM)", place=str(archive.path), remedy=remedy)
    names = [
        archive.resolve("", event.attributes.get("full-path", ""))
        for event in _starts(archive, CONTAINER)
        if event.name == "rootfile"
    ]
    if not names:
        remedy = "Save it again in the program that made it."
        raise DocumentError("names no package", place=f"{archive.path}:{CONTAINER}", remedy=remedy)
    return [_package(archive, name) for name in dict.fromkeys(names)]


def _package(archive: Archive, name: str) -> Package:
    package = Package(name)
    items: dict[str, tuple[str, str]] = {}
    spine: list[str] = []
    language: Event | None = None
    version = text = ""
    for event in _events(archive, name):
        if event.kind == "start" and event.name == "package":
            version = event.attributes.get("version", "")
        elif event.kind == "start" and event.name == "spine" and not version.startswith(("1", "2")):
            package.order = event
        elif event.kind == "start" and event.name == "item":
            target = event.attributes.get("href", "")
            if "://" not in target:
                part = archive.resolve(posixpath.dirname(name), target)
                items[event.attributes.get("id", "")] = part, event.attributes.get("media-type", "")
        elif event.kind == "start" and event.name == "itemref":
            spine.append(event.attributes.get("idref", ""))
        elif event.name == "language" and event.space == DUBLIN_CORE and not event.empty:
            if event.kind == "end" and language and text.strip():
                package.languages.append((Span(language.span.end, event.span.start), text.strip()))
            language, text = (event, "") if event.kind == "start" else (None, "")
        elif event.kind == "text" and language:
            text += event.text
    pages = [part for part, type_ in (items[key] for key in spine if key in items) if type_ in _PAGES]
    others = [part for part, type_ in items.values() if type_ in _PAGES and part in archive]
    package.pages = list(dict.fromkeys([*pages, *others]))
    package.tables = [part for part, type_ in items.values() if type_ == _NCX and part in archive]
    return package


def _events(archive: Archive, name: str) -> Iterator[Event]:
    return xml_events([archive.read(name)], f"{archive.path}:{name}")


def _starts(archive: Archive, name: str) -> Iterator[Event]:
    return (event for event in _events(archive, name) if event.kind == "start")
