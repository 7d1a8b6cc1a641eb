"""String tables of Apple's systems (.strings)."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from multihead_documents.errors import DocumentError
from multihead_documents.markup import Markup
from multihead_documents.reading import Text, decode
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.text_document import TextDocument, stripped_span

_SPACE = re.compile(r"[\s\ufeff]*+")
_COMMENT = re.compile(r"/\*(.*?)\*/|//([^\r\n\u2028\u2029]*)", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"' + r"|'(?:[^'\\]|\\.)*+'", re.DOTALL)
_WORD = re.compile(r"[\w$/:.-]++", re.ASCII)
_ESCAPE = re.compile(r"\\(?:U([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_UNIT = re.compile(r"\\(?:U[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)|.", re.DOTALL)
_NAMES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPES = {"\\": "\\\\", '"': '\\"', **{letter: f"\\{name}" for name, letter in _NAMES.items()}}
_SPELLED = re.compile('[\\\\"\0-\x1f]')
_NO_NOTE = "No comment provided by engineer."
_COMPILED = (b"bplist", b"<?xml", b"<!DOCTYPE", b"<plist", b"\xef\xbb\xbf<?xml")


def strings_text(data: bytes, path: Path, encoding: str | None = None) -> Text:
    """Decode a table: UTF-8, or UTF-16 with a byte-order mark.

    Raises:
        DocumentError: a compiled table, a property list; see ``reading.decode``.
    """
    if data.startswith(_COMPILED):
        remedy = 'Translate the table that it was compiled from, with lines such as "key" = "text".'
        raise DocumentError("a compiled table of strings (a property list)", place=str(path), remedy=remedy)
    return decode(data, path, encoding)


class AppleStrings(TextDocument):
    """A table of strings. Its segments are values; the comments above are a segment's note.

    A line ``"key";`` has its key for a value, and gets one of its own.
    """

    kind = "strings"

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path, text)
        self._place = 0
        self._values: list[tuple[Span, str]] = []
        """Span of each text, and the quotes that it needs around it; after a key without value, the ``=``."""
        # A file that escapes all non-ASCII characters continues to do so.
        self._escapes = text.text.isascii() and "\\U" in text.text
        note = self._notes()
        while self._place < len(text.text):
            self._add_entry(note)
            note = self._notes()

    def _notes(self) -> str:
        """Skip white space and comments, and return the comments of the last paragraph."""
        notes: list[str] = []
        text = self._text.text
        while True:
            space = _SPACE.match(text, self._place)
            assert space
            if len(re.findall(r"\r\n?|\n", space[0])) > 1:
                notes = []
            self._place = space.end()
            match = _COMMENT.match(text, self._place)
            if not match:
                if text.startswith("/*", self._place):
                    raise self._fault("a comment without an end", self._place)
                return "\n".join(note for note in notes[-20:] if note and note != _NO_NOTE)
            notes.append(" ".join((match[1] or match[2] or "").split())[:2000])
            self._place = match.end()

    def _add_entry(self, note: str) -> None:
        start = self._place
        key = value = self._string("a key")
        self._notes()
        alone = not self._text.text.startswith("=", self._place)
        if not alone:
            self._place += 1
            self._notes()
            value = self._string("a value")
            self._notes()
        if not self._text.text.startswith(";", self._place):
            raise self._fault("a semicolon is missing", self._place)
        self._place += 1
        source = self._meant(value).strip()
        if not source:
            return
        quote = self._text.text[value.start]
        if alone:
            self._values.append((Span(value.end, value.end), " = "))
        elif quote in "\"'":
            inner = Span(value.start + 1, value.end - 1)
            self._values.append((stripped_span(self._text.text, inner, _UNIT, _unescape), quote))
        else:
            self._values.append((value, ""))
        place = self._text.place(start)
        self._add(Segment(len(self.segments), Markup.of(source), place, key=self._meant(key), note=note))

    def _string(self, what: str) -> Span:
        """Skip a string in quotes, or a word."""
        match = _QUOTED.match(self._text.text, self._place) or _WORD.match(self._text.text, self._place)
        if not match:
            quoted = self._text.text.startswith(("'", '"'), self._place)
            raise self._fault(
                f"{what} without closing quote" if quoted else f"{what} is missing", self._place
            )
        self._place = match.end()
        return Span(*match.span())

    def _meant(self, span: Span) -> str:
        raw = self._text.text[slice(*span)]
        return _unescape(raw[1:-1]) if raw[0] in "\"'" else raw

    def _fault(self, fact: str, offset: int) -> DocumentError:
        remedy = 'Entries are written "key" = "text"; plutil -lint shows the fault.'
        return DocumentError(
            f"not a table of strings ({fact})", place=self._text.place(offset), remedy=remedy
        )

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        for number, translation in translations.items():
            span, quote = self._values[number]
            spelled = self._spell(translation.target.text)
            if quote == "'":
                spelled = spelled.replace("'", "\\'")
            if quote == " = " or (not quote and not _WORD.fullmatch(spelled)):
                spelled = f'{quote}"{spelled}"'
            yield Edit(span, [spelled])

    def _spell(self, text: str) -> str:
        spelled = _SPELLED.sub(lambda found: _ESCAPES.get(found[0]) or f"\\U{ord(found[0]):04x}", text)
        if not self._escapes:
            return spelled
        units = spelled.encode("utf-16-be", "surrogatepass")
        codes = (int.from_bytes(units[place : place + 2]) for place in range(0, len(units), 2))
        return "".join(chr(code) if code < 128 else f"\\U{code:04x}" for code in codes)


def _unescape(raw: str) -> str:
    r"""Decode the escapes of a string.

    >>> _unescape(r'a\n\"b\" \U00e4 \q')
    'a\n"b" ä q'
    """

    def letter(found: re.Match[str]) -> str:
        code, octal, other = found.groups()
        if code or octal:
            return chr(int(code, 16) if code else int(octal, 8))
        return _NAMES.get(other, other)

    text = _ESCAPE.sub(letter, raw)
    # Two escapes may be a surrogate pair.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
