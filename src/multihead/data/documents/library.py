"""The library multihead-documents: reading and writing, with its errors as ``UserError``."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import multihead_documents
from multihead.errors import UserError
from multihead.text import markup
from multihead.text.encodings import likely
from multihead_documents import (
    BY_ENDING,
    Document,
    Markup,
    Segment,
    Tag,
    Translation,
    conversion,
    faults,
)
from multihead_documents.document import best_language, languages_match
from multihead_documents.errors import DocumentError, UndecodableError
from multihead_documents.markdown.links import links_beyond
from multihead_documents.memories.tmx_writing import tmx_lines
from multihead_documents.reading import Text
from multihead_documents.rst.labels import reference_names, target_names
from multihead_documents.web.html import Page

__all__ = [
    "BY_ENDING",
    "TABLES",
    "Document",
    "Markup",
    "Segment",
    "Tag",
    "Translation",
    "best_language",
    "conversion",
    "faults",
    "format_of",
    "html_fragment",
    "languages_match",
    "links_beyond",
    "open_document",
    "reference_names",
    "render",
    "target_names",
    "tmx_lines",
    "to_document",
    "to_translate",
    "user_errors",
    "write",
]

TABLES = frozenset(ending for ending, format in BY_ENDING.items() if format.is_table)
"""Extensions of tables, whose text columns must be named."""


@contextmanager
def user_errors() -> Iterator[None]:
    """Raise the library's errors as ``UserError``, with a guess at an undecodable text's encoding."""
    try:
        yield
    except DocumentError as error:
        remedy = error.remedy
        if isinstance(error, UndecodableError) and remedy:
            remedy = f"{remedy.rstrip('.')}{likely(error.line, error.offset)}."
        raise UserError(error.fact, place=error.place, remedy=remedy) from error


format_of = user_errors()(multihead_documents.format_of)
open_document = user_errors()(multihead_documents.open_document)
render = user_errors()(Document.render)
write = user_errors()(Document.write)


@user_errors()
def html_fragment(text: str) -> Document:
    """Read a fragment or page of HTML."""
    return Page(Path("q"), Text("q", text, "utf-8"))


def to_translate(source: Markup) -> markup.Markup:
    """Return a segment's markup for a translator."""
    return markup.Markup.of(
        *(
            piece if isinstance(piece, str) else markup.Tag(piece.id, piece.kind, piece.text)
            for piece in source.pieces
        )
    )


def to_document(translation: markup.Markup) -> Markup:
    """Return a translation's markup for its document, which identifies tags by id and kind."""
    return Markup.of(
        *(piece if isinstance(piece, str) else Tag(piece.id, piece.kind) for piece in translation.pieces)
    )
