"""Java properties (.properties), as read by ``java.util.Properties``."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from multihead_documents.markup import Markup
from multihead_documents.reading import Text, decode
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.text_document import TextDocument, stripped_span

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_KEY = re.compile(r"(?:\\(?:\r\n|.)|[^\\:= \t\f\r\n])*", re.DOTALL)
_SEPARATOR = re.compile(
    r"[ \t\f]*(?:\\(?:\r\n|\r|\n)[ \t\f]*)*(?:[:=][ \t\f]*(?:\\(?:\r\n|\r|\n)[ \t\f]*)*)?"
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(?:\r\n|\r|\n)[ \t\f]*|(.)|\Z)", re.DOTALL)
_UNIT = re.compile(r"\\u[0-9a-fA-F]{4}|\\(?:\r\n|\r|\n)[ \t\f]*|\\.|.", re.DOTALL)
_NAMES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"})


def properties_text(data: bytes, path: Path, encoding: str | None = None) -> Text:
    """Decode a file as UTF-8 or else ISO-8859-1, the encoding before Java 9."""
    try:
        data.decode()
    except UnicodeDecodeError:
        encoding = encoding or "iso-8859-1"
    return decode(data, path, encoding)


class Properties(TextDocument):
    """A properties file. Its segments are values; the comment above is a segment's note.

    Non-ASCII characters of a translation are escaped as ``\\uXXXX`` in an ASCII or ISO-8859-1 file.
    """

    kind = "properties"

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path, text)
        self._spans: list[Span] = []
        self._escapes = text.text.isascii() or not text.encoding.lower().startswith("utf")
        notes: list[str] = []
        for start, end in _logical_lines(text.text):
            line = text.text[start:end]
            content = line.lstrip(" \t\f\ufeff")
            if not content or content[0] in "#!":
                notes = [*notes, content[1:].strip()][-20:] if content else []
                continue
            start = end - len(content)
            key = _KEY.match(text.text, start, end)
            assert key
            separator = _SEPARATOR.match(text.text, key.end(), end)
            assert separator
            value = Span(separator.end(), end)
            if unescape(text.text[slice(*value)]).strip():
                self._add_value(unescape(key[0]), value, "\n".join(notes))
            notes = []

    def _add_value(self, key: str, span: Span, note: str) -> None:
        source = unescape(self._text.text[slice(*span)]).strip()
        self._spans.append(stripped_span(self._text.text, span, _UNIT, unescape))
        place = self._text.place(span.start)
        self._add(Segment(len(self.segments), Markup.of(source), place, key=key, note=note))

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        for number, translation in translations.items():
            yield Edit(self._spans[number], [self._escape(translation.target.text)])

    def _escape(self, text: str) -> str:
        spelled = re.sub(r"\A(?=[:=])", r"\\", text.translate(_ESCAPES))  # else part of the separator
        if not self._escapes:
            return spelled
        units = spelled.encode("utf-16-be", "surrogatepass")
        codes = (int.from_bytes(units[place : place + 2]) for place in range(0, len(units), 2))
        return "".join(chr(code) if code < 128 else f"\\u{code:04X}" for code in codes)


def _logical_lines(text: str) -> Iterator[Span]:
    """Yield logical lines: an odd number of backslashes at the end continues a line."""
    start = place = 0
    while place < len(text):
        match = _LINE.match(text, place)
        assert match
        place = match.end()
        content = match[0].rstrip("\r\n")
        first = text[start : start + 1000].lstrip(" \t\f\ufeff")
        goes_on = (len(content) - len(content.rstrip("\\"))) % 2 and not first.startswith(("#", "!"))
        if goes_on and place < len(text):
            continue
        yield Span(start, match.start() + len(content))
        start = place


def unescape(raw: str) -> str:
    r"""Decode the escapes of a key or value.

    >>> unescape(r"a\tb \u00e4 \z")
    'a\tb ä z'
    """

    def letter(found: re.Match[str]) -> str:
        code, other = found.groups()
        if code:
            return chr(int(code, 16))
        return _NAMES.get(other, other) if other else ""

    text = _ESCAPE.sub(letter, raw)
    # two escapes may be a surrogate pair
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
