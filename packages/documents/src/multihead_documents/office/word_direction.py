"""Direction of writing in Word documents (ECMA-376, part 1, sec. 17.3.1.6, 17.3.2.30 and 17.4.1).

A paragraph, its runs and a table each say by themselves that they are written from right to left.
"""

import math
import re

from multihead_documents.splice import Edit, Span, splice

_LETTER = re.compile(
    rb"\xd6[\x90-\xbf]|[\xd7-\xdf][\x80-\xbf]|\xe0[\xa0-\xa3][\x80-\xbf]|\xef(?:\xac[\x9d-\xbf]|[\xad-\xb7][\x80-\xbf]"
    rb"|\xb9[\xb0-\xbf]|\xba[\x80-\xbf]|\xbb[\x80-\xbc])|\xf0[\x90\x9e][\xa0-\xbf][\x80-\xbf]"
)
"""A letter of Hebrew, Arabic or another script that is written from right to left, in UTF-8."""
# The order of properties is fixed: each pattern has one, and those that may stand only behind it.
_BIDI = re.compile(
    rb"(<(?:\w+:)?bidi(?:\s+(?:\w+:)?val=[\"']\w*[\"'])?\s*/>)|<(?:\w+:)?(?:adjustRightInd|snapToGrid|spacing|ind"
    rb"|contextualSpacing|mirrorIndents|suppressOverlap|jc|textDirection|textAlignment|textboxTightWrap"
    rb"|outlineLvl|divId|cnfStyle|rPr|sectPr|pPrChange)[\s/>]|</(?:\w+:)?pPr\s*>"
)
_RTL = re.compile(
    rb"(<(?:\w+:)?rtl(?:\s+(?:\w+:)?val=[\"']\w*[\"'])?\s*/>)|<(?:\w+:)?(?:cs|em|lang|eastAsianLayout|specVanish"
    rb"|oMath|rPrChange)[\s/>]|</(?:\w+:)?rPr\s*>"
)
_COLUMNS = re.compile(
    rb"(<(?:\w+:)?bidiVisual(?:\s+(?:\w+:)?val=[\"']\w*[\"'])?\s*/>)|<(?:\w+:)?(?:tblStyleRowBandSize"
    rb"|tblStyleColBandSize|tblW|jc|tblCellSpacing|tblInd|tblBorders|shd|tblLayout|tblCellMar|tblLook|tblCaption"
    rb"|tblDescription|tblPrChange)[\s/>]|</(?:\w+:)?tblPr\s*>"
)
_PARAGRAPH = rb"<%bp(?:\s[^<>]*)?(?<!/)>(?:\s{0,60}<%bpPr\s*(/?)>)?"
_TABLE = rb"<%btblPr\s*>"
_END = rb"</%bp\s*>"
"""Patterns of elements with the prefix of Word's, as drawings have paragraphs of their own."""
_ROOT = re.compile(rb"<(\w+:|)(?:document|hdr|ftr|footnotes|endnotes|glossaryDocument)[\s>]")
_RUN = re.compile(rb"<(?:\w+:)?rPr\s*(/?)>")
_ESCAPE = re.compile(rb"&\w+;")


class _Next:
    """Places of a pattern, each looked for once."""

    def __init__(self, pattern: re.Pattern[bytes], part: bytes) -> None:
        self._places = (match.start() for match in pattern.finditer(part))
        self._place = -1.0

    def after(self, start: int) -> float:
        """Return the first place from an offset on, which is not below that of the last call."""
        while self._place < start:
            self._place = next(self._places, math.inf)
        return self._place


def turn(part: bytes, right_to_left: bool) -> bytes:
    """Return a part in which paragraphs and tables have the direction of a translation.

    A paragraph is turned to the right if it has a letter that is written so, and to the left if it has none.

    Args:
        part: well-formed XML in an encoding that holds ASCII.
        right_to_left: the new direction.
    """
    root = _ROOT.search(part)
    if not root:  # a chart, or the data of SmartArt
        return part
    prefix = root[1]
    edits: list[Edit[bytes]] = []
    ends, letters = _Next(re.compile(_END % prefix), part), _Next(_LETTER, part)
    for match in re.finditer(_PARAGRAPH % (prefix, prefix), part):
        has_letter = letters.after(match.end()) < ends.after(match.end())
        if has_letter == right_to_left:
            edits.append(_paragraph(part, match, prefix, right_to_left))
    for match in re.finditer(_TABLE % prefix, part):
        edits.append(_state(part, match.end(), _COLUMNS, prefix + b"bidiVisual", right_to_left))
    return splice(part, edits)


def direct(properties: bytes, text: bytes, prefix: bytes) -> bytes:
    """Return the properties of a run for this text.

    Args:
        properties: its element ``rPr``; empty if it has none.
        text: UTF-8, escaped.
        prefix: of the elements, with the colon.
    """
    right_to_left = bool(_LETTER.search(text))
    match = _RUN.match(properties)
    if not match or match[1]:
        return b"<%brPr><%brtl/></%brPr>" % (prefix, prefix, prefix) if right_to_left else properties
    named = _RTL.search(properties, match.end())
    letters = any(map(str.isalpha, _ESCAPE.sub(b"", text).decode()))
    if not right_to_left and not (named and named[1] and letters):
        return properties  # what has no letters goes with its neighbours
    return splice(properties, [_state(properties, match.end(), _RTL, prefix + b"rtl", right_to_left)])


def _paragraph(part: bytes, found: re.Match[bytes], prefix: bytes, right_to_left: bool) -> Edit[bytes]:
    is_empty = found[1]
    if is_empty == b"":
        return _state(part, found.end(), _BIDI, prefix + b"bidi", right_to_left)
    begin = part.rindex(b"<", 0, found.end()) if is_empty else found.end()
    new = b"<%bpPr>%b</%bpPr>" % (prefix, _element(prefix + b"bidi", right_to_left), prefix)
    return Edit(Span(begin, found.end()), [new])


def _state(
    part: bytes, start: int, pattern: re.Pattern[bytes], name: bytes, right_to_left: bool
) -> Edit[bytes]:
    """Return the edit that states a direction in the properties that begin here."""
    match = pattern.search(part, start)
    if not match:  # what looked like a start tag is in a comment
        return Edit(Span(start, start), [])
    end = match.end() if match[1] else match.start()
    return Edit(Span(match.start(), end), [_element(name, right_to_left)])


def _element(name: bytes, right_to_left: bool) -> bytes:
    """Return an element that states the direction; a style may have stated the other."""
    if right_to_left:
        return b"<%b/>" % name
    prefix, colon, _ = name.rpartition(b":")
    return b'<%b %b:val="0"/>' % (name, prefix) if colon else b""
