"""Non-recursive JSON parser (RFC 8259) that yields string values with their spans."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from multihead_documents.errors import DocumentError
from multihead_documents.reading import Text
from multihead_documents.splice import Span

MAX_DEPTH = 100
"""Nesting limit of objects and lists."""
_MAX_PATH = 1000
"""Length limit of a key path; the end is kept."""
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])|(?:true|false|null)\b")
_DECODER = json.JSONDecoder()


@dataclass
class Level:
    """An object or list: its key path, its string values by key, and the objects and lists in it."""

    outer: "Level | None"
    step: str
    """Its key or index in the outer one."""
    path: str
    is_object: bool
    key: str = ""
    """Key or index of the next value."""
    count: int = 0
    strings: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    offsets: dict[str, int] = field(default_factory=dict)
    """Offset of each key."""
    scalars: dict[str, str] = field(default_factory=dict)
    """Numbers, true, false and null as they are written."""
    spans: dict[str, Span] = field(default_factory=dict)
    """Spans of the strings, with their quotes."""
    inner: "dict[str, Level]" = field(default_factory=dict)
    span: Span = field(default_factory=lambda: Span(0, 0))

    def within(self) -> "Iterator[Level]":
        """Yield it and its ancestors."""
        level: Level | None = self
        while level:
            yield level
            level = level.outer

    def join_parts(self, key: str) -> str:
        """Return the key path of one of its values."""
        return f"{self.path}.{key}"[-_MAX_PATH:] if self.path else key


class Value(NamedTuple):
    """A string value; the span includes the quotes."""

    level: Level
    key: str
    text: str
    span: Span


class StringReader:
    """Parser of one file."""

    def __init__(self, text: Text) -> None:
        self._file = text
        self._text = text.text
        self._place = 0
        self._levels: list[Level] = []
        self.top = Level(None, "", "", False)
        """Level around the whole file, whose one value has the key ""."""

    def values(self) -> Iterator[Value]:
        """Yield the string values. The ``keys`` and ``strings`` of a level are complete at the end.

        Raises:
            DocumentError: invalid JSON, or nested too deeply.
        """
        self._place = 1 if self._text.startswith("\ufeff") else 0
        self._skip()
        while True:
            level = self._levels[-1] if self._levels else self.top
            if self._text.startswith(("{", "["), self._place):
                if self._open(level):
                    continue  # with its first value
            elif self._text.startswith('"', self._place):
                start = self._place
                text = self._string()
                level.strings[level.key] = text
                level.spans[level.key] = span = Span(start, self._place)
                yield Value(level, level.key, text, span)
            else:
                level.scalars[level.key] = self._scalar()
            if not self._next():
                return

    def _fault(self, fact: str) -> DocumentError:
        remedy = "A JSON checker shows the fault; comments and commas at an end are not allowed."
        return DocumentError(f"not JSON ({fact})", place=self._file.place(self._place), remedy=remedy)

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._place)
        assert match
        self._place = match.end()

    def _take(self, mark: str) -> bool:
        """Skip a token and the white space around it, if present."""
        self._skip()
        if not self._text.startswith(mark, self._place):
            return False
        self._place += len(mark)
        self._skip()
        return True

    def _string(self) -> str:
        try:
            text, self._place = _DECODER.raw_decode(self._text, self._place)
        except ValueError as error:
            raise self._fault(str(getattr(error, "msg", error)).lower()) from None
        return str(text)

    def _scalar(self) -> str:
        match = _SCALAR.match(self._text, self._place)
        if not match:
            raise self._fault("a value is missing")
        self._place = match.end()
        return match[0]

    def _open(self, outer: Level) -> bool:
        """Enter an object or list up to its first value; return False if it is empty."""
        if len(self._levels) >= MAX_DEPTH:
            fact = f"more than {MAX_DEPTH} objects and lists inside one another"
            raise DocumentError(
                fact, place=self._file.place(self._place), remedy="Is this a file of messages?"
            )
        is_object = self._text[self._place] == "{"
        path = outer.join_parts(outer.key) if outer.outer or outer.key else ""
        outer.inner[outer.key] = level = Level(outer, outer.key, path, is_object)
        level.span = Span(self._place, self._place)
        self._place += 1
        if self._close(level):
            return False
        level.key = self._key(level) if is_object else "0"
        self._levels.append(level)
        return True

    def _key(self, level: Level) -> str:
        if not self._text.startswith('"', self._place):
            raise self._fault("a key in quotes is missing")
        start = self._place
        key = self._string()
        if not self._take(":"):
            raise self._fault("a colon is missing")
        level.keys.add(key)
        level.offsets[key] = start
        return key

    def _close(self, level: Level) -> bool:
        """Skip the end of a level, if it is here."""
        self._skip()
        end = self._place + 1
        level.span = level.span._replace(end=end)
        return self._take("}" if level.is_object else "]")

    def _next(self) -> bool:
        """Advance to the next value, closing levels that end here; return False at the end."""
        while self._levels:
            level = self._levels[-1]
            if self._take(","):
                level.count += 1
                level.key = self._key(level) if level.is_object else str(level.count)
                return True
            if not self._close(level):
                raise self._fault("a comma or an end is missing")
            self._levels.pop()
        self._skip()
        if self._place < len(self._text):
            raise self._fault("something behind its end")
        return False
