"""The formats of documents: the one table that everything else reads.

A new format is a line here, and a module with its reader.
"""

import importlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from multihead_documents.errors import DocumentError
from multihead_documents.reading import MAX_BYTES

_SLOW = 8 << 20
"""Size limit of a file whose parser is slow, or needs much memory: 8 MiB."""
_BOTH = ("source_language", "target_language")
_TEXT_BOTH = ("text", *_BOTH)
_TEXT_TO, _DATA_TO = ("text", "target_language"), ("data", "target_language")


@dataclass(frozen=True)
class Format:
    """A format of documents."""

    name: str
    endings: tuple[str, ...]
    reader: str
    """Class of its documents, "module:class", imported on first use. Its first argument is the path."""
    takes: tuple[str, ...] = ("text",)
    """Further arguments of the class, in order: "data" or "text", the file's content, and arguments of
    ``open_document``. A reader without content reads the file itself."""
    decoder: str = "reading:decode"
    """Function that decodes the text, "module:function"."""
    largest: int = MAX_BYTES
    """Size limit of a file in bytes."""
    bilingual: bool = False
    """True if a file holds a text and its translation."""
    messages: str = ""
    """For messages of programs, how directives such as ``%s`` are filled: in their "order", by "numbers" if
    they have any (``%2$s``), as the "flags" of a message say, or as "qt" does. "" for other texts."""
    timed: bool = False
    """True for subtitles."""
    comments: bool = False
    """True if a translation's comment is written at its place."""
    seldom: bool = False
    """True if files with these endings are settings or programs more often than texts."""

    @property
    def is_table(self) -> bool:
        """True if the columns with text have to be named."""
        return "columns" in self.takes

    @property
    def is_archive(self) -> bool:
        """True for an archive of several files."""
        return not {"data", "text"} & set(self.takes)

    @cached_property
    def read(self) -> Any:
        """The class of its documents."""
        return _attribute(self.reader)

    @cached_property
    def decode(self) -> Any:
        """The function that decodes a file."""
        return _attribute(self.decoder)


def _attribute(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(f"multihead_documents.{module}"), attribute)


FORMATS = (
    Format("text", (".txt",), "plain_text:PlainText"),
    Format("srt", (".srt",), "subtitles.srt:SubRip", timed=True),
    Format("vtt", (".vtt",), "subtitles.vtt:WebVtt", timed=True),
    Format("ass", (".ass",), "subtitles.ass:SubStation", timed=True),
    Format(
        "po",
        (".po", ".pot"),
        "strings.po:Catalogue",
        _TEXT_TO,
        "strings.po:catalogue_text",
        bilingual=True,
        comments=True,
        messages="flags",
    ),
    Format(
        "xliff",
        (".xliff", ".xlf"),
        "memories.xliff:Xliff",
        _DATA_TO,
        bilingual=True,
        comments=True,
        messages="order",
    ),
    Format("tmx", (".tmx",), "memories.tmx:Tmx", ("data", *_BOTH), bilingual=True),
    Format("html", (".html", ".htm"), "web.html:Page", _TEXT_BOTH, "web.html:page_text"),
    Format("html", (".xhtml",), "web.xhtml:XhtmlPage", _TEXT_BOTH, "web.xhtml:xhtml_text"),
    Format("epub", (".epub",), "web.epub:Book", _BOTH),
    Format("docx", (".docx", ".docm", ".dotx"), "office.docx:WordDocument", _BOTH, comments=True),
    Format("pptx", (".pptx", ".pptm", ".potx", ".ppsx"), "office.pptx:Presentation", _BOTH),
    Format("xlsx", (".xlsx", ".xlsm", ".xltx"), "office.xlsx:Workbook", _BOTH, comments=True),
    Format("odt", (".odt", ".ott"), "office.odt:OpenDocument", _BOTH),
    Format("odp", (".odp", ".otp"), "office.odp:OpenPresentation", _BOTH),
    Format("ods", (".ods", ".ots"), "office.ods:OpenSpreadsheet", _BOTH),
    Format(
        "json",
        (".json", ".arb"),
        "strings.json_messages:JsonMessages",
        _TEXT_TO,
        seldom=True,
        messages="order",
    ),
    Format(
        "yaml",
        (".yml", ".yaml"),
        "strings.yaml_messages:YamlMessages",
        _TEXT_BOTH,
        largest=_SLOW,
        seldom=True,
        messages="order",
    ),
    Format(
        "properties",
        (".properties",),
        "strings.properties:Properties",
        decoder="strings.properties:properties_text",
        seldom=True,
        messages="numbers",
    ),
    Format("android", (".xml",), "strings.android:AndroidStrings", _DATA_TO, seldom=True, messages="numbers"),
    Format("resx", (".resx", ".resw"), "strings.resx:Resources", ("data",), messages="order"),
    Format(
        "qt",
        (".ts",),
        "strings.qt_linguist:QtTranslations",
        _DATA_TO,
        bilingual=True,
        seldom=True,
        messages="qt",
    ),
    Format(
        "strings",
        (".strings",),
        "strings.apple_strings:AppleStrings",
        decoder="strings.apple_strings:strings_text",
        messages="numbers",
    ),
    Format("stringsdict", (".stringsdict",), "strings.stringsdict:PluralRules", _DATA_TO, messages="numbers"),
    Format(
        "xcstrings",
        (".xcstrings",),
        "strings.xcstrings:StringCatalogue",
        _TEXT_TO,
        bilingual=True,
        messages="numbers",
    ),
    Format("csv", (".csv", ".tsv"), "csv_table:CsvTable", ("text", "columns"), seldom=True),
    Format(
        "markdown", (".md", ".markdown", ".mdx", ".qmd", ".rmd"), "markdown.markdown:Markdown", largest=_SLOW
    ),
    Format("notebook", (".ipynb",), "markdown.notebook:Notebook"),
    Format("rst", (".rst",), "rst.rst:ReStructuredText", largest=_SLOW),
    Format("latex", (".tex",), "latex.latex:Latex", _TEXT_BOTH, "latex.latex:latex_text", largest=_SLOW),
)

BY_ENDING = {ending: format for format in FORMATS for ending in format.endings}
"""Format of each file extension."""

_CONVERSIONS = {
    **dict.fromkeys((".doc", ".rtf", ".pages"), ".docx"),
    **dict.fromkeys((".ppt", ".pps", ".key"), ".pptx"),
    **dict.fromkeys((".xls", ".xlsb", ".numbers"), ".xlsx"),
    **dict.fromkeys((".mobi", ".azw3"), ".epub"),
}
"""The format to convert a file of another one to."""


def conversion(path: Path | str) -> str:
    """Return what to do with a file of a format that is not read; "" if nothing is known."""
    other = _CONVERSIONS.get(Path(path).suffix.lower())
    return f"Save it as {other}, in the program that opens it" if other else ""


def format_of(path: Path | str) -> Format:
    """Return the format of a file by its extension.

    Raises:
        DocumentError: the format is not supported.
    """
    ending = Path(path).suffix.lower()
    if ending not in BY_ENDING:
        fact = (
            f"a file ending in {ending!r} is not a document that is read"
            if ending
            else "a name without ending"
        )
        remedy = f"{conversion(path)}. " if conversion(path) else ""
        raise DocumentError(fact, place=str(path), remedy=f"{remedy}Endings: {', '.join(BY_ENDING)}.")
    return BY_ENDING[ending]
