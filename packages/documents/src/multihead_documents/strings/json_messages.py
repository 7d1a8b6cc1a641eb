"""Messages in JSON (.json, .arb): nested keys (i18next), browser extensions, Flutter's ARB."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from multihead_documents.markup import Markup
from multihead_documents.reading import Text
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.strings.json_strings import Level, StringReader, Value
from multihead_documents.text_document import TextDocument, stripped_span

_UNIT = re.compile(r"\\u.{4}|\\.|.", re.DOTALL)
_MESSAGE = frozenset(("message", "description", "placeholders"))
"""Keys of a browser extension's message."""


class JsonMessages(TextDocument):
    """A JSON file. Its segments are string values; a segment's key is the path of keys.

    In ``{"message": ..., "description": ...}`` only the message is translated, and the description is its
    note; in ARB, ``"@name"`` describes ``"name"``.
    """

    kind = "json"

    def __init__(self, path: Path, text: Text, target_language: str | None = None) -> None:
        super().__init__(path, text)
        self._wanted = target_language
        self._locale: Span | None = None
        """The value of ARB's ``@@locale``."""
        self._spans: list[Span] = []
        # a file that escapes all non-ASCII characters continues to do so
        self._escapes = text.text.isascii() and "\\u" in text.text
        values = list(StringReader(text).values())
        notes = {
            (id(value.level.outer), value.level.step[1:]): value.text
            for value in values
            if value.key == "description" and value.level.step.startswith("@")
        }
        for value in values:
            if value.key == "@@locale" and not value.level.path:
                self.source_language = value.text.strip() or None
                self._locale = Span(value.span.start + 1, value.span.end - 1)
            if value.text.strip() and not _is_described(value):
                self._add_value(value, notes.get((id(value.level), value.key), ""))

    def _add_value(self, value: Value, note: str) -> None:
        is_message = _is_message(value.level)
        inner = Span(value.span.start + 1, value.span.end - 1)
        self._spans.append(stripped_span(self._text.text, inner, _UNIT, _decode))
        self._add(
            Segment(
                len(self.segments),
                Markup.of(value.text.strip()),
                self._text.place(value.span.start),
                key=value.level.path if is_message else value.level.join_parts(value.key),
                note=value.level.strings.get("description", "") if is_message else note,
            )
        )

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        if translations and self._wanted and self._locale:
            yield Edit(self._locale, [self._wanted.replace("-", "_")])
        for number, translation in translations.items():
            spelled = json.dumps(translation.target.text, ensure_ascii=self._escapes)
            yield Edit(self._spans[number], [spelled[1:-1]])


def _decode(unit: str) -> str:
    return unit if len(unit) == 1 else str(json.loads(f'"{unit}"'))


def _is_message(level: Level) -> bool:
    return bool(level.path) and level.is_object and "message" in level.strings and level.keys <= _MESSAGE


def _is_described(value: Value) -> bool:
    """True for a description of a message or of its placeholders."""
    if value.key.startswith("@") or any(level.step.startswith("@") for level in value.level.within()):
        return True
    if _is_message(value.level):
        return value.key != "message"
    return any(_is_message(level) for level in value.level.within())
