"""Opening of a document of any format; it imports all readers."""

from collections.abc import Callable, Sequence
from pathlib import Path

from multihead.documents.android import AndroidStrings
from multihead.documents.apple_strings import AppleStrings, strings_text
from multihead.documents.archive_document import ArchiveDocument
from multihead.documents.csv_table import CsvTable
from multihead.documents.document import Document
from multihead.documents.docx import WordDocument
from multihead.documents.epub import Book
from multihead.documents.html import Page, page_text
from multihead.documents.json_messages import JsonMessages
from multihead.documents.latex import MAX_LATEX_BYTES, Latex, latex_text
from multihead.documents.markdown import MAX_MARKDOWN_BYTES, Markdown
from multihead.documents.notebook import Notebook
from multihead.documents.odp import OpenPresentation
from multihead.documents.ods import OpenSpreadsheet
from multihead.documents.odt import OpenDocument
from multihead.documents.plain_text import PlainText
from multihead.documents.po import Catalogue, catalogue_text
from multihead.documents.pptx import Presentation
from multihead.documents.properties import Properties, properties_text
from multihead.documents.qt_linguist import QtTranslations
from multihead.documents.reading import MAX_BYTES, Text, decoded, read_bytes
from multihead.documents.resx import Resources
from multihead.documents.rst import MAX_RST_BYTES, ReStructuredText
from multihead.documents.srt import SubRip
from multihead.documents.stringsdict import PluralRules
from multihead.documents.tmx import Tmx
from multihead.documents.vtt import WebVtt
from multihead.documents.xcstrings import StringCatalogue
from multihead.documents.xhtml import XhtmlPage, xhtml_text
from multihead.documents.xliff import Xliff
from multihead.documents.xlsx import Workbook
from multihead.documents.yaml_messages import MAX_YAML_BYTES, YamlMessages

_ARCHIVES: dict[str, Callable[[Path], ArchiveDocument]] = {
    "docx": WordDocument,
    "pptx": Presentation,
    "xlsx": Workbook,
    "odt": OpenDocument,
    "odp": OpenPresentation,
    "ods": OpenSpreadsheet,
}
_TEXTS: dict[str, Callable[[Path, Text], Document]] = {
    "text": PlainText,
    "srt": SubRip,
    "vtt": WebVtt,
    "markdown": Markdown,
    "notebook": Notebook,
    "rst": ReStructuredText,
}
_LARGEST = {
    "latex": MAX_LATEX_BYTES,
    "markdown": MAX_MARKDOWN_BYTES,
    "rst": MAX_RST_BYTES,
    "yaml": MAX_YAML_BYTES,
}
"""Size limits of files whose parsers are slow."""


def opened(
    path: Path,
    kind: str,
    *,
    source_language: str | None,
    target_language: str | None,
    encoding: str | None,
    columns: Sequence[str],
) -> Document:
    """Read a document of a kind; arguments as of ``documents.open_document``."""
    if kind == "epub":
        return Book(path, source_language, target_language)
    if kind in _ARCHIVES:
        document = _ARCHIVES[kind](path)
        document.languages = source_language, target_language
        return document
    data = read_bytes(path, _LARGEST.get(kind, MAX_BYTES))
    if kind == "po":
        return Catalogue(path, catalogue_text(data, path, encoding), target_language)
    if kind == "properties":
        return Properties(path, properties_text(data, path, encoding))
    if kind == "html":
        if path.suffix.lower() == ".xhtml":
            return XhtmlPage(path, xhtml_text(data, path, encoding), source_language, target_language)
        return Page(path, page_text(data, path, encoding), source_language, target_language)
    if kind == "latex":
        return Latex(path, latex_text(data, path, encoding), source_language, target_language)
    if kind == "xliff":
        return Xliff(path, data, target_language)
    if kind == "android":
        return AndroidStrings(path, data, target_language)
    if kind == "resx":
        return Resources(path, data)
    if kind == "qt":
        return QtTranslations(path, data, target_language)
    if kind == "strings":
        return AppleStrings(path, strings_text(data, path, encoding))
    if kind == "stringsdict":
        return PluralRules(path, data, target_language)
    if kind == "xcstrings":
        return StringCatalogue(path, decoded(data, path, encoding), target_language)
    if kind == "tmx":
        return Tmx(path, data, source_language, target_language)
    if kind == "yaml":
        return YamlMessages(path, decoded(data, path, encoding), source_language, target_language)
    if kind == "json":
        return JsonMessages(path, decoded(data, path, encoding), target_language)
    if kind == "csv":
        return CsvTable(path, decoded(data, path, encoding), columns)
    return _TEXTS[kind](path, decoded(data, path, encoding))
