"""Opening of a document of any format."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multihead_documents.document import Document
from multihead_documents.formats import format_of
from multihead_documents.reading import read_bytes


def open_document(
    path: Path | str,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    encoding: str | None = None,
    columns: Sequence[str] = (),
) -> Document:
    """Read a document. The reader of its format is imported on first use.

    Args:
        path: a file of one of the ``FORMATS``; untrusted; files and addresses in it are never opened.
        source_language: the language to translate from; needed for a TMX file that names none.
        target_language: the language of the translations, written where XLIFF, TMX, PO and Qt do not name it
            yet, and into ``lang`` of HTML, languages of e-books, ``@@locale`` of ARB and ``tools:locale``;
            the one that is read and added in a string catalogue, and whose plural forms are added.
        encoding: of a text without a byte-order mark or declaration; UTF-8 if not given.
        columns: of a table of values (.csv, .tsv) those with text: their names in its first row, or numbers
            from 1.

    Raises:
        DocumentError: the file is missing, too large, malformed, or of another format than its name says.
    """
    path = Path(path)
    format = format_of(path)
    values: dict[str, Any] = {
        "source_language": source_language,
        "target_language": target_language,
        "columns": columns,
    }
    if not format.is_archive:
        values["data"] = read_bytes(path, format.largest)
    if "text" in format.takes:
        values["text"] = format.decode(values["data"], path, encoding)
    document: Document = format.read(path, *(values[name] for name in format.takes))
    return document
