"""Direction of writing in slides, sheets and OpenDocument, turned for a translation that needs the other."""

import re

PARTS = re.compile(
    r"(?:\A|/)(?:slideMasters/slideMaster\d+|slideLayouts/slideLayout\d+|worksheets/sheet\d+|presentation"
    r"|styles|content)\.xml\Z"
)
"""Parts that say how texts are written, their own or those of other parts."""

# DrawingML: ECMA-376, part 1, sec. 21.1.2.2.7 and 21.1.2.4; views of sheets: sec. 18.3.1.87.
_DRAWN = re.compile(rb"<(?:\w+:)?(?:pPr|lvl\dpPr|defPPr)(?=\s)[^<>]*>")
_RTL = re.compile(rb"(\srtl=[\"'])(\w*)([\"'])")
_ALIGNED = re.compile(rb"(\salgn=[\"'])([lr])([\"'])")
_TABLE = re.compile(rb"<((?:\w+:)?tblPr)(?=\s)([^<>]*\s(?:firstRow|bandRow|rtl)=[^<>]*)>")
_VIEW = re.compile(rb"<((?:\w+:)?sheetView)(?=[\s/>])([^<>]*)>")
# OpenDocument 1.3, part 3, sec. 20.404 and 20.226.
_MODE = re.compile(rb"(\s(?:\w+:)?writing-mode=[\"'])(?:lr-tb|rl-tb|lr|rl)([\"'])")
_SIDE = re.compile(rb"(\s(?:\w+:)?text-align=[\"'])(left|right)([\"'])")
_DEFAULT = re.compile(
    rb"(<(?:\w+:)?default-style\s[^<>]*family=[\"']paragraph[\"'][^<>]*>\s{0,60}<(\w+:|)paragraph-properties"
    rb"|<(\w+:|)page-layout-properties)(?=[\s/>])([^<>]*>)"
)
_OPPOSITE = {b"l": b"r", b"r": b"l", b"left": b"right", b"right": b"left"}


def turn(part: bytes, right_to_left: bool) -> bytes:
    """Return a part with its texts, sheets and pages in the other direction.

    What stands on the left goes to the right and the other way round; what is centred stays. Alignment at the
    start of a line follows the direction by itself.

    Args:
        part: XML in an encoding that holds ASCII, of Office Open XML or OpenDocument.
        right_to_left: the new direction.
    """
    part = _DRAWN.sub(lambda found: _draw(found[0], right_to_left), part)
    part = _TABLE.sub(lambda found: _name(found, b"rtl", right_to_left), part)
    part = _VIEW.sub(lambda found: _name(found, b"rightToLeft", right_to_left), part)
    mode = b"rl-tb" if right_to_left else b"lr-tb"
    turned_part = _DEFAULT.sub(lambda found: _default(found, mode), part)
    turned_part = _MODE.sub(rb"\g<1>" + mode + rb"\g<2>", turned_part)
    if turned_part == part:
        return part
    return _SIDE.sub(_opposite, turned_part)


def _opposite(found: re.Match[bytes]) -> bytes:
    return found[1] + _OPPOSITE[found[2]] + found[3]


def _draw(element: bytes, right_to_left: bool) -> bytes:
    """Turn the properties of a paragraph, or of a level of an outline."""
    named = _RTL.search(element)
    if named and (named[2] in (b"1", b"true")) == right_to_left:
        return element
    element = _RTL.sub(b"\\g<1>%d\\g<3>" % right_to_left, element)
    return _ALIGNED.sub(_opposite, element)


def _name(found: re.Match[bytes], name: bytes, right_to_left: bool) -> bytes:
    """Turn a table or the view of a sheet: the first column is on the other side."""
    attributes = re.sub(rb"\s%s=[\"']\w*[\"']" % name, b"", found[2])
    return b"<" + found[1] + (b' %s="1"' % name if right_to_left else b"") + attributes + b">"


def _default(found: re.Match[bytes], mode: bytes) -> bytes:
    """Name the direction where a document leaves it to the program that opens it."""
    if b"writing-mode=" in found[4]:
        return found[0]
    prefix = found[2] or found[3] or b""
    return found[1] + b" " + prefix + b'writing-mode="' + mode + b'"' + found[4]
