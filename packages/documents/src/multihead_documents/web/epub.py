"""E-books (.epub): chapters of XHTML in reading order, tables of contents, the title."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from multihead_documents.document import languages_match
from multihead_documents.errors import DocumentError
from multihead_documents.office.archive_document import ArchiveDocument
from multihead_documents.office.odt import OdtParagraph
from multihead_documents.segment import Translation
from multihead_documents.splice import Edit
from multihead_documents.web.epub_package import DUBLIN_CORE, Package, packages
from multihead_documents.web.xhtml import XhtmlPage, xhtml_text
from multihead_documents.writing import is_right_to_left
from multihead_documents.xml.events import Event, escape, xml_encoding

_NCX = "http://www.daisy.org/z3986/2005/ncx/"
_HIDDEN = frozenset(("docAuthor", "pageList"))
"""Elements of a table of contents whose texts are names of people, or numbers of pages."""
_PROGRESSION = re.compile(r"""\s+page-progression-direction\s*=\s*(?:"[^"]*"|'[^']*')""")
_TYPE = b"application/epub+zip"


class Book(ArchiveDocument):
    """An e-book. Styles, images, fonts, audio and scripts are kept, and authors and publishers."""

    kind = "epub"

    def __init__(
        self, path: Path, source_language: str | None = None, target_language: str | None = None
    ) -> None:
        self._languages = source_language, target_language
        self._packages: list[Package] = []
        self._chapters: set[str] = set()
        """Parts that are pages of XHTML."""
        self._pages: dict[int, tuple[str, XhtmlPage, int]] = {}
        """Part and page of each segment of a page, and its number there."""
        super().__init__(path)

    def _text_parts(self) -> list[str]:
        named = self._archive.read("mimetype").strip() if "mimetype" in self._archive else _TYPE
        if named != _TYPE:
            remedy = "Give it the ending of its own format."
            raise DocumentError("an archive of another kind", place=str(self.path), remedy=remedy)
        self._packages = packages(self._archive)
        self._chapters = {name for package in self._packages for name in package.pages}
        named_languages = [text for package in self._packages for _, text in package.languages]
        self.source_language = next(iter(named_languages), None)
        return list(
            dict.fromkeys(
                part for package in self._packages for part in (package.name, *package.pages, *package.tables)
            )
        )

    def _read(self, name: str) -> None:
        if name not in self._chapters:
            super()._read(name)
            return
        source, target = self._languages
        path = Path(f"{self.path}:{name}")
        page = XhtmlPage(path, xhtml_text(self._parts[name], path), source or self.source_language, target)
        for segment in page.segments:
            self._pages[len(self.segments)] = name, page, segment.number
            self._add(replace(segment, number=len(self.segments)))

    def _hides(self, event: Event) -> bool:
        return event.name in _HIDDEN and event.space == _NCX

    def _begin_paragraph(self, event: Event, data: bytes) -> OdtParagraph | None:
        if (event.name, event.space) in (("title", DUBLIN_CORE), ("text", _NCX)):
            return OdtParagraph(xml_encoding(data))
        return None

    def _changes(self, translations: Mapping[int, Translation]) -> dict[str, bytes]:
        inside: dict[str, tuple[XhtmlPage, dict[int, Translation]]] = {}
        for number, (name, page, edits) in self._pages.items():
            if number in translations:
                inside.setdefault(name, (page, {}))[1][edits] = translations[number]
        pages = {name: page.render(page_translations) for name, (page, page_translations) in inside.items()}
        return {**super()._changes(translations), **pages}

    def _edits(self, translations: Mapping[int, Translation]) -> dict[str, list[Edit[bytes]]]:
        others = {
            number: translation for number, translation in translations.items() if number not in self._pages
        }
        edits = super()._edits(others)
        source, target = self._languages[0] or self.source_language, self._languages[1]
        if not (translations and source and target):
            return edits
        for package in self._packages:
            encoding = xml_encoding(self._parts[package.name])
            for span, named in package.languages:
                if languages_match(source, named):
                    edit = Edit(span, [escape(target).encode(encoding)])
                    edits.setdefault(package.name, []).append(edit)
            if package.order and is_right_to_left(source) != is_right_to_left(target):
                edits.setdefault(package.name, []).append(
                    _turn(package.order, is_right_to_left(target), encoding)
                )
        return edits


def _turn(order: Event, right_to_left: bool, encoding: str) -> Edit[bytes]:
    """Return the edit after which pages are turned from the other side (EPUB 3.3, sec. 5.7.1)."""
    tag = _PROGRESSION.sub("", order.raw.decode(encoding))
    if right_to_left:
        tag = re.sub(r"(?=\s*/?>\Z)", ' page-progression-direction="rtl"', tag, count=1)
    return Edit(order.span, [tag.encode(encoding)])
