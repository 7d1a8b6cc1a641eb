"""HTML tokenizer with source offsets (HTML Living Standard, sec. 13.2.5).

Python's ``html.parser`` differs between patch releases and raises on some input, and tree parsers give no end
offsets. The tests compare the tokens with html5lib's.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from multihead_documents.splice import Span

RAW = frozenset({"script", "style", "xmp", "iframe", "noembed", "noframes", "textarea", "title", "plaintext"})
"""Raw text elements; ``title`` and ``textarea`` may contain character references."""
FOREIGN = frozenset({"svg", "math"})
"""Foreign elements, in which ``title``, ``style`` and ``script`` are not raw."""

_OPEN = re.compile(r"<(?:(?P<name>[a-zA-Z])|/(?P<close>[a-zA-Z])|(?P<other>[!?]|/[^a-zA-Z]))")
_NAME = re.compile(r"[^\t\n\f\r />]+")
_BETWEEN = re.compile(r"[\t\n\f\r /]*")
_ATTRIBUTE = re.compile(r"[^\t\n\f\r />][^\t\n\f\r />=]*")
_EQUALS = re.compile(r"[\t\n\f\r ]*=[\t\n\f\r ]*")
_UNQUOTED = re.compile(r"[^\t\n\f\r >]*")


class Attribute(NamedTuple):
    """An attribute: lower-cased name, span of the value without quotes, quote character."""

    name: str
    value: Span
    quote: str


class Token(NamedTuple):
    """A start or end tag, empty element, text, raw text, or other markup such as a comment."""

    kind: Literal["start", "end", "empty", "text", "raw", "other"]
    """``empty`` is an element of XML without content, ``<x/>``."""
    span: Span
    name: str = ""
    """Lower-cased tag name, without a prefix in XML."""
    attributes: tuple[Attribute, ...] = ()
    empty: bool = False
    """True for ``<x/>``: an empty element in SVG and MathML, an ordinary start tag in HTML."""

    def attribute(self, name: str) -> Attribute | None:
        """Return its first attribute of this name."""
        return next((attribute for attribute in self.attributes if attribute.name == name), None)


def html_tokens(text: str, xml: bool = False) -> Iterator[Token]:
    """Yield contiguous tokens that cover the whole text. Any text is valid input.

    Args:
        text: the page.
        xml: True for XHTML, which has empty elements and CDATA sections, and no raw text elements.
    """
    place = begun = 0
    foreign = 0
    while match := _OPEN.search(text, place):
        start = match.start()
        if match["name"] or match["close"]:
            token = _tag(text, start, "start" if match["name"] else "end")
            token = _in_xml(token) if xml else token
        else:
            token = Token("other", Span(start, _markup_end(text, start, foreign > 0, xml)))
            if text.startswith("<![CDATA[", start) and (xml or foreign):
                token = token._replace(kind="raw")
        if begun < start:
            yield Token("text", Span(begun, start))
        yield token
        place = begun = token.span.end
        if token.name in FOREIGN:
            foreign = max(0, foreign + (token.kind == "start") - (token.kind == "end"))
        if token.kind == "start" and token.name in RAW and not (foreign or xml):
            end = _raw_end(text, token.name, place)
            if end > place:
                yield Token("text" if token.name in ("title", "textarea") else "raw", Span(place, end))
            place = begun = end
    if begun < len(text):
        yield Token("text", Span(begun, len(text)))


def _in_xml(token: Token) -> Token:
    kind = "empty" if token.kind == "start" and token.empty else token.kind
    return token._replace(kind=kind, name=token.name.rpartition(":")[2])


def _markup_end(text: str, start: int, foreign: bool, xml: bool) -> int:
    """Return the end of a comment, doctype, CDATA section, processing instruction or bogus comment."""
    if text.startswith("<!--", start):
        closed = re.compile("-->").search(text, start + 2)
        banged = re.compile("--!>").search(text, start + 4, closed.start() if closed else len(text))
        ending = banged or closed
        return ending.end() if ending else len(text)
    mark = "]]>" if (foreign or xml) and text.startswith("<![CDATA[", start) else ">"
    mark = "?>" if xml and text.startswith("<?", start) else mark
    end = text.find(mark, start + 2)
    return len(text) if end < 0 else end + len(mark)


def _tag(text: str, start: int, kind: Literal["start", "end"]) -> Token:
    """Read a tag. Browsers drop an unterminated tag and the rest of the page."""
    name = _NAME.match(text, start + (1 if kind == "start" else 2))
    assert name
    attributes: list[Attribute] = []
    place = name.end()
    while True:
        between = _BETWEEN.match(text, place)
        assert between
        place = between.end()
        if place >= len(text):
            return Token("other", Span(start, len(text)))
        if text[place] == ">":
            span = Span(start, place + 1)
            return Token(kind, span, name[0].lower(), tuple(attributes), text[place - 1] == "/")
        match = _ATTRIBUTE.match(text, place)
        assert match
        equals = _EQUALS.match(text, match.end())
        value, quote, place = Span(match.end(), match.end()), "", match.end()
        if equals:
            place = equals.end()
            quote = text[place : place + 1] if text[place : place + 1] in ("'", '"') else ""
            if quote:
                end = text.find(quote, place + 1)
                if end < 0:
                    return Token("other", Span(start, len(text)))
                value, place = Span(place + 1, end), end + 1
            else:
                unquoted = _UNQUOTED.match(text, place)
                assert unquoted
                value, place = Span(*unquoted.span()), unquoted.end()
        attributes.append(Attribute(match[0].lower(), value, quote))


def _raw_end(text: str, name: str, place: int) -> int:
    """Return the offset of a raw text element's end tag."""
    if name == "plaintext":
        return len(text)
    close = rf"</{name}(?=[\t\n\f\r />])"
    if name != "script":
        match = re.compile(close, re.IGNORECASE).search(text, place)
        return match.start() if match else len(text)
    # Script data, its escaped state behind <!--, and the double escaped one behind <script> in it.
    marks = {
        0: re.compile(rf"(<!--)(?!-?>)|{close}", re.IGNORECASE),
        1: re.compile(rf"(-->)|(<script(?=[\t\n\f\r />]))|{close}", re.IGNORECASE),
        2: re.compile(rf"(-->)|({close})", re.IGNORECASE),
    }
    state = 0
    while match := marks[state].search(text, place):
        if state == 0 and not match[1]:
            return match.start()
        if state == 0:
            state, place = 1, match.end()
        elif match[1]:
            state, place = 0, match.end()
        elif match[2]:
            state, place = 3 - state, match.end()
        else:
            return match.start()
    return len(text)
