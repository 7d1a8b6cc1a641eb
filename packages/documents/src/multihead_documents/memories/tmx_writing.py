"""Translation memories in TMX 1.4, with the tags of their segments."""

import importlib.metadata
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import quoteattr

from multihead_documents.markup import Markup, Tag
from multihead_documents.xml.events import escape


def tmx_lines(pairs: Iterable[tuple[Markup, Markup]], source: str, target: str) -> Iterator[str]:
    """Yield the lines of a memory of these languages; corresponding tags have the same id."""
    version = quoteattr(importlib.metadata.version("multihead-documents"))
    language = quoteattr(source)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<tmx version="1.4">'
    yield (
        f'<header creationtool="multihead-documents" creationtoolversion={version} segtype="block"'
        f' o-tmf="multihead" adminlang="en" srclang={language} datatype="plaintext"/>'
    )
    yield "<body>"
    for sides in pairs:
        numbers = {name: str(number) for number, name in enumerate(dict.fromkeys(_ids(sides)), start=1)}
        yield "<tu>"
        for code, side in zip((source, target), sides, strict=True):
            yield f"<tuv xml:lang={quoteattr(code)}><seg>{_content(side, numbers)}</seg></tuv>"
        yield "</tu>"
    yield "</body>"
    yield "</tmx>"


def _ids(sides: Iterable[Markup]) -> Iterator[str]:
    for side in sides:
        yield from (tag.id for tag in side.tags)


def _content(side: Markup, numbers: dict[str, str]) -> str:
    kinds = set(side.tags)
    parts = []
    for piece in side.pieces:
        if isinstance(piece, str):
            # A line feed is white space here, and each unit keeps to its lines.
            parts.append(escape(piece).replace("\n", "&#10;"))
            continue
        number = numbers[piece.id]
        whole = {Tag(piece.id, "open"), Tag(piece.id, "close")} <= kinds
        if whole and piece.kind != "alone":
            parts.append(f'<{"bpt" if piece.kind == "open" else "ept"} i="{number}"/>')
        elif piece.kind == "alone":
            parts.append(f'<ph x="{number}"/>')
        else:
            parts.append(f'<it pos="{"begin" if piece.kind == "open" else "end"}" x="{number}"/>')
    return "".join(parts)
