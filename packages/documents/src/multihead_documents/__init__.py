"""Document formats: read into segments with inline markup, written back with translations.

Whatever is not translated stays byte for byte as it was.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     path = Path(folder) / "letter.txt"
...     _ = path.write_text("Guten Tag.\\r\\n\\r\\n  Bis bald!\\r\\n", newline="")
...     document = open_document(path)
...     print([str(segment.source) for segment in document.segments])
...     document.rendered({1: "See you soon!"})
['Guten Tag.', 'Bis bald!']
b'Guten Tag.\\r\\n\\r\\n  See you soon!\\r\\n'
"""

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path

from multihead.errors import UserError
from multihead_documents.document import Document
from multihead_documents.markup import Markup, Tag, carried, faults, repaired
from multihead_documents.segment import Plural, Segment, Translation

__all__ = [
    "KINDS",
    "TABLES",
    "Document",
    "Markup",
    "Plural",
    "Segment",
    "Tag",
    "Translation",
    "carried",
    "conversion",
    "faults",
    "kind_of",
    "open_document",
    "repaired",
]

KINDS = {
    ".txt": "text",
    ".srt": "srt",
    ".vtt": "vtt",
    ".po": "po",
    ".pot": "po",
    ".xliff": "xliff",
    ".xlf": "xliff",
    ".tmx": "tmx",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".epub": "epub",
    ".docx": "docx",
    ".docm": "docx",
    ".dotx": "docx",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".potx": "pptx",
    ".ppsx": "pptx",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xltx": "xlsx",
    ".odt": "odt",
    ".ott": "odt",
    ".odp": "odp",
    ".otp": "odp",
    ".ods": "ods",
    ".ots": "ods",
    ".json": "json",
    ".arb": "json",
    ".yml": "yaml",
    ".yaml": "yaml",
    ".properties": "properties",
    ".xml": "android",
    ".resx": "resx",
    ".resw": "resx",
    ".ts": "qt",
    ".strings": "strings",
    ".stringsdict": "stringsdict",
    ".xcstrings": "xcstrings",
    ".csv": "csv",
    ".tsv": "csv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".qmd": "markdown",
    ".rmd": "markdown",
    ".ipynb": "notebook",
    ".rst": "rst",
    ".tex": "latex",
}
"""Format of each file extension."""
TABLES = frozenset((".csv", ".tsv"))
"""Extensions of tables, of which the columns with text have to be named."""

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


def kind_of(path: Path | str) -> str:
    """Return the format of a file by its extension.

    Raises:
        UserError: the format is not supported.
    """
    ending = Path(path).suffix.lower()
    if ending not in KINDS:
        fact = (
            f"a file ending in {ending!r} is no document that is read" if ending else "a name without ending"
        )
        remedy = f"{conversion(path)}. " if conversion(path) else ""
        raise UserError(fact, place=str(path), remedy=f"{remedy}Endings: {', '.join(KINDS)}.")
    return KINDS[ending]


def open_document(
    path: Path | str,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    encoding: str | None = None,
    columns: Sequence[str] = (),
) -> Document:
    """Read a document.

    Args:
        path: a file of one of the ``KINDS``; untrusted; files and addresses in it are never opened.
        source_language: the language to translate from; needed for a TMX file that names none.
        target_language: the language of the translations, written where XLIFF, TMX, PO and Qt do not name it
            yet, and into ``lang`` of HTML, languages of e-books, ``@@locale`` of ARB and ``tools:locale``;
            the one that is read and added in a string catalogue, and whose plural forms are added.
        encoding: of a text without a byte-order mark or declaration; UTF-8 if not given.
        columns: of a table of values (.csv, .tsv) those with text: their names in its first row, or numbers
            from 1.

    Raises:
        UserError: the file is missing, too large, malformed, or of another format than its name says.
    """
    path = Path(path)
    kind = kind_of(path)
    # Most commands read no documents, and the readers take a tenth of a second to import.
    opened: Callable[..., Document] = importlib.import_module("multihead_documents.opening").opened
    return opened(
        path,
        kind,
        source_language=source_language,
        target_language=target_language,
        encoding=encoding,
        columns=columns,
    )
