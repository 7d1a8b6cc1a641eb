"""Opening of a document of any format; it imports all readers."""

from collections.abc import Callable, Sequence
from pathlib import Path

from multihead_documents.csv_table import CsvTable
from multihead_documents.document import Document
from multihead_documents.latex.latex import MAX_LATEX_BYTES, Latex, latex_text
from multihead_documents.markdown.markdown import MAX_MARKDOWN_BYTES, Markdown
from multihead_documents.markdown.notebook import Notebook
from multihead_documents.memories.tmx import Tmx
from multihead_documents.memories.xliff import Xliff
from multihead_documents.office.archive_document import ArchiveDocument
from multihead_documents.office.docx import WordDocument
from multihead_documents.office.odp import OpenPresentation
from multihead_documents.office.ods import OpenSpreadsheet
from multihead_documents.office.odt import OpenDocument
from multihead_documents.office.pptx import Presentation
from multihead_documents.office.xlsx import Workbook
from multihead_documents.plain_text import PlainText
from multihead_documents.reading import MAX_BYTES, Text, decoded, read_bytes
from multihead_documents.rst.rst import MAX_RST_BYTES, ReStructuredText
from multihead_documents.strings.android import AndroidStrings
from multihead_documents.strings.apple_strings import AppleStrings, strings_text
from multihead_documents.strings.json_messages import JsonMessages
from multihead_documents.strings.po import Catalogue, catalogue_text
from multihead_documents.strings.properties import Properties, properties_text
from multihead_documents.strings.qt_linguist import QtTranslations
from multihead_documents.strings.resx import Resources
from multihead_documents.strings.stringsdict import PluralRules
from multihead_documents.strings.xcstrings import StringCatalogue
from multihead_documents.strings.yaml_messages import MAX_YAML_BYTES, YamlMessages
from multihead_documents.subtitles.srt import SubRip
from multihead_documents.subtitles.vtt import WebVtt
from multihead_documents.web.epub import Book
from multihead_documents.web.html import Page, page_text
from multihead_documents.web.xhtml import XhtmlPage, xhtml_text

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
