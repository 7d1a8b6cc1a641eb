"""LaTeX (.tex): papers, theses, lecture notes and talks, or chapters of them."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from multihead_documents.errors import DocumentError
from multihead_documents.inline import Inline, pair_tags, trim
from multihead_documents.latex.blocks import Block, blocks
from multihead_documents.latex.characters import SPELL, escape
from multihead_documents.latex.languages import rename
from multihead_documents.latex.tokens import Tokens
from multihead_documents.markup import Markup, Piece, Tag
from multihead_documents.reading import Text, decode
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.text_document import TextDocument

_LOOSE = frozenset(("comment", "setting", "layout", "figure", "break", "display", "float"))
"""Names of tags that are stripped from the ends of a sentence."""
_NUMBER = re.compile(r"[\d\s.,:+\-−–±×%/()]*\d[\d\s.,:+\-−–±×%/()]*")
_WORD = re.compile(r"\\[A-Za-z]+\*?\Z")
_SPACED_WORD = re.compile(r"\\[A-Za-z]+\*?\s+\Z")
_ENCODING = re.compile(rb"^[^%\n]*\\usepackage[ \t]*\[([\w-]+)\][ \t]*\{inputenc\}", re.MULTILINE)
_ENCODINGS = {
    **{"latin1": "iso-8859-1", "latin2": "iso-8859-2", "latin3": "iso-8859-3", "latin4": "iso-8859-4"},
    **{"latin5": "iso-8859-9", "latin9": "iso-8859-15", "latin10": "iso-8859-16", "ansinew": "cp1252"},
    **{"applemac": "mac_roman", **{name: name for name in ("cp1250", "cp1251", "cp1252", "koi8-r")}},
}
"""Encodings by their names in the package ``inputenc``."""


def latex_text(data: bytes, path: Path, encoding: str | None) -> Text:
    """Decode a file, by its package ``inputenc`` if no encoding is given and the file is not UTF-8."""
    declared = _ENCODING.search(data[: 1 << 16])
    name = _ENCODINGS.get(declared[1].decode()) if declared and not encoding else None
    if name and not data.isascii():
        with suppress(DocumentError):
            return decode(data, path)
    return decode(data, path, encoding or name)


class Latex(TextDocument):
    """A LaTeX file. Its segments are paragraphs, headings, captions, items and table cells, each on one line.

    The preamble but its titles, mathematics, code, keys, unknown commands and their arguments are kept.
    """

    kind = "latex"
    unencodable = SPELL

    def __init__(
        self, path: Path, text: Text, source_language: str | None = None, target_language: str | None = None
    ) -> None:
        super().__init__(path, text)
        self.source_language = source_language
        self.target_language = target_language
        tokens = Tokens(text.text)
        # A chapter does not say whether its document loads babel.
        self._has_shorthands = "babel" in text.text or "\\documentclass" not in text.text
        self._contents: list[tuple[Block, Inline]] = []
        for block in blocks(tokens):
            place = text.place(block.items[0].span.start)
            inline = trim(pair_tags(block.items), place, loose=lambda tag: tag.name in _LOOSE)
            if inline and not (block.is_cell and _is_number(block, inline.markup)):
                self._contents.append((block, inline))
                place = text.place(inline.span.start)
                self._add(Segment(len(self.segments), inline.markup.collapsed(), place))

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        for number, new in translations.items():
            block, inline = self._contents[number]
            yield Edit(inline.span, self._parts(block, inline, new.target.collapsed()))
        if translations:
            yield from rename(self._text.text, self.source_language, self.target_language)

    def _parts(self, block: Block, inline: Inline, target: Markup) -> list[str | Span]:
        """Return the pieces of a translation, apart where they would be read as one command."""
        whole, spans = self._text.text, inline.tags
        result: list[str | Span] = []
        before = whole[max(0, inline.span.start - 100) : inline.span.start]
        last: Tag | None = None
        for piece in target.pieces:
            if isinstance(piece, str):
                new = escape(piece, has_shorthands=self._has_shorthands, in_brackets=block.in_brackets)
                is_number = block.is_cell and piece == target.text and _NUMBER.fullmatch(piece)
                if piece == "]" or is_number:
                    new = "{}" + new  # a text all the same
                part: str | Span = new
            else:
                part = spans[piece]
                new = whole[part.start : part.end]
            gap = self._gap(last, spans, before, new) if result else _first_gap(before, new, piece)
            result += [gap, part] if gap else [part]
            before, last = new, piece if isinstance(piece, Tag) else None
        return result

    def _gap(self, last: Tag | None, spans: Mapping[Tag, Span], before: str, new: str) -> str:
        """Return what keeps a tag from running into what comes after it."""
        if last and last.name == "command" and new[0] in "{[":
            return "\\relax"  # what follows is not an argument
        if before.endswith("$") and last and new[0] == "$":
            return "{}"
        if last and (last.name == "sign" or _WORD.search(before)) and (new[0].isalpha() or new[0].isspace()):
            end = spans[last].end
            # Who has a space after a command means it: it may add one of its own.
            is_spaced = new[0].isspace() and self._text.text[end : end + 1].isspace()
            return "" if is_spaced else "{}"
        if last and last.name == "setting" and before[-1:].isalnum() and new[0].isalnum():
            return " "
        is_swallowed = last and (last.name in ("comment", "setting") or _SPACED_WORD.search(before))
        if is_swallowed and new[0].isspace():
            return "{}"
        return ""


def _first_gap(before: str, new: str, piece: Piece) -> str:
    """Return what keeps a translation from running into the command before it."""
    if isinstance(piece, str) and new[0] == "{" and before.rstrip().endswith(("}", "]")):
        return "\\relax"  # what follows is not an argument
    return " " if before[-1:].isalnum() and new[0].isalnum() else ""


def _is_number(block: Block, markup: Markup) -> bool:
    """Return whether a cell is a number, to be kept. An empty group in it makes it a text."""
    is_text = any(isinstance(item.piece, str) and not item.piece for item in block.items)
    return not is_text and not markup.tags and bool(_NUMBER.fullmatch(markup.text))
