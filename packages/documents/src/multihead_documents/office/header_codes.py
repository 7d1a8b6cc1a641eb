"""Headers and footers of Excel sheets, which are formatted by codes (ECMA-376, part 1, sec. 18.3.1.46)."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from multihead_documents.inline import Inline, Item, pair_tags, trim
from multihead_documents.markup import Markup, Tag
from multihead_documents.splice import Span
from multihead_documents.xml.events import escape

LONGEST = 255
"""Characters of a header with its codes; Excel calls a workbook with a longer one broken."""
_ELEMENT = re.compile(
    rb"<((?:\w+:)?(?:odd|even|first)(?:Header|Footer))(?:\s[^<>]*)?>([^<]*)</\1\s*>",
)
_UNIT = re.compile(
    rb"&amp;(?P<letter>&amp;)"
    rb"|&amp;(?P<section>[LCR])|(?P<line>\r?\n|&#(?:10|x0*[aA]);|_x000[aAdD]_)"
    rb"|&amp;(?P<field>P(?:[+-][0-9]+)?|[NDTFAZG])"
    rb'|&amp;(?P<format>&quot;[^<>]*?&quot;|"[^"<>]*"|K(?:[0-9A-Fa-f]{6}|[0-9]{2}[+-][0-9]{3})|[0-9]{1,3}|[A-Za-z])'
    rb"|&\#?\w+;|(?:(?!_x000[aAdD]_)[^&\r\n])+|[&\r]"
)
_NUMBERING = re.compile(r"[\d\s/|.,:()–—-]*")
"""Signs and words beside the numbers of pages."""


@dataclass
class HeaderText:
    """A line of the left, middle or right of a header or footer.

    Attributes:
        inline: its text; fields such as the number of the page, and formats, are tags.
        before: the codes before it.
        header: the span of the whole header.
        length: characters of the whole header.
        room: characters that this text may have.
    """

    inline: Inline
    before: bytes
    header: Span
    length: int
    room: int

    @property
    def span(self) -> Span:
        """The span of the text."""
        return self.inline.span

    def parts(self, translation: Markup) -> list[bytes | Span]:
        """Return a translation with codes."""
        written = self.before
        for piece in translation.pieces:
            if isinstance(piece, Tag):
                written += piece.raw.encode()
                continue
            text = escape(piece.replace("&", "&&")).encode()
            is_number = written[-1:].isdigit() and text[:1].isdigit()
            if is_number or (written.endswith(b"&amp;P") and text[:1] in b"+-"):
                written += b" "  # the code would go on in the text
            written += text
        return [written[len(self.before) :]]

    def longer(self, translation: Markup) -> int:
        """Return by how many characters a translation makes the header longer."""
        old, new = self.inline.markup, translation
        return _length(self.parts(new)[0]) - _length(self.parts(old)[0])


def _length(written: bytes | Span) -> int:
    assert isinstance(written, bytes)
    return len(html.unescape(written.decode()))


def header_texts(sheet: bytes, place: str) -> Iterator[HeaderText]:
    """Yield the texts of the headers and footers of a sheet, in UTF-8.

    Args:
        sheet: the part.
        place: for errors.
    """
    begin = sheet.find(b"headerFooter")
    for match in _ELEMENT.finditer(sheet, begin) if begin >= 0 else ():
        length = len(html.unescape(match[2].decode()))
        lines = [one for items in _lines(sheet, Span(*match.span(2))) if (one := _trim(items, place))]
        texts = sum(len(line.markup.text) for line in lines)
        for line in lines:
            room = (LONGEST - length + texts) // len(lines)
            before = sheet[match.start(2) : line.span.start]
            yield HeaderText(line, before, Span(*match.span(2)), length, room)


def _trim(items: list[Item], place: str) -> Inline | None:
    trimmed = trim(pair_tags(items), place, loose=lambda tag: tag.name == "format")
    return None if trimmed is None or _NUMBERING.fullmatch(trimmed.markup.text) else trimmed


def _lines(sheet: bytes, span: Span) -> Iterator[list[Item]]:
    """Yield the content of each line of each section."""
    items: list[Item] = []
    for match in _UNIT.finditer(sheet, span.start, span.end):
        where, raw = Span(*match.span()), match[0].decode()
        if match["section"] or match["line"]:
            yield items
            items = []
        elif match["field"] or match["format"]:
            name = "field" if match["field"] else "format"
            items.append(Item(Tag("", "alone", name, raw), where))
        else:
            items.append(Item("&" if match["letter"] else html.unescape(raw), where))
    yield items
