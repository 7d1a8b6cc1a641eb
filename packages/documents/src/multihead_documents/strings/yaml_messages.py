"""Messages in YAML (.yml, .yaml): values of keys, as Rails, Symfony and i18n libraries have them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml

from multihead_documents.document import languages_match
from multihead_documents.errors import DocumentError
from multihead_documents.markup import Markup
from multihead_documents.reading import Text
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.strings.yaml_scalars import spell
from multihead_documents.text_document import TextDocument

MAX_DEPTH = 100
"""Nesting limit of mappings and sequences."""
_TEXT = "tag:yaml.org,2002:str"
_BLOCK = re.compile(r"[|>][+-]?[ \t]*(?:#[^\n]*)?\n(?:[ \t]*\n)*(?P<indentation>[ ]+)(?=\S)")
"""A block whose indentation is that of its first line."""
_END = re.compile(r"\s*\Z")


@dataclass
class _Level:
    """An open mapping or sequence: its path of keys, and the key or index of the next value."""

    path: str
    is_mapping: bool
    flow: bool
    key: str | None = None
    count: int = 0


class _Value(NamedTuple):
    """A scalar that is translated: its span, its style (``'``, ``"``, ``|``, ``>`` or "") and its context."""

    span: Span
    style: str
    flow: bool


class YamlMessages(TextDocument):
    """A YAML file. Its segments are texts that are values; a segment's key is the path of keys.

    Comments, keys, numbers, dates, spacing, and values with a tag or an anchor are kept. If the only key of
    the file is the source language, as in Rails, it becomes the target language.
    """

    kind = "yaml"

    def __init__(
        self, path: Path, text: Text, source_language: str | None = None, target_language: str | None = None
    ) -> None:
        super().__init__(path, text)
        self._languages = source_language, target_language
        self._values: list[_Value] = []
        self._first_keys: list[tuple[str, Span]] = []
        try:
            self._read()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = text.place(mark.index) if mark else str(path)
            raise self._fault(str(error.problem or error.context), place) from None
        except yaml.reader.ReaderError as error:
            raise self._fault(str(error.reason), text.place(max(0, error.position))) from None
        except (ValueError, OverflowError) as error:  # an escape beyond Unicode, a version of many digits
            raise self._fault(str(error), str(path)) from None

    def _fault(self, fact: str, place: str) -> DocumentError:
        return DocumentError(f"not YAML ({fact})", place=place, remedy="A YAML checker shows the fault.")

    def _read(self) -> None:
        resolver = yaml.resolver.Resolver()
        levels: list[_Level] = []
        for event in yaml.parse(self._text.text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                self._open(event, levels)
            elif isinstance(event, yaml.CollectionEndEvent):
                levels.pop()
                _next(levels)
            elif isinstance(event, yaml.AliasEvent):
                _next(levels, key="*")
            elif isinstance(event, yaml.ScalarEvent):
                level = levels[-1] if levels else None
                if level and level.is_mapping and level.key is None:
                    self._take_key(event, levels)
                    continue
                if resolver.resolve(yaml.ScalarNode, event.value, event.implicit) == _TEXT and not (
                    event.tag or event.anchor
                ):
                    self._add_value(event, level)
                _next(levels)

    def _open(self, event: yaml.CollectionStartEvent, levels: list[_Level]) -> None:
        if len(levels) >= MAX_DEPTH:
            fact = f"more than {MAX_DEPTH} mappings and sequences inside one another"
            place = self._text.place(event.start_mark.index)
            raise DocumentError(fact, place=place, remedy="Is this a file of messages?")
        level = levels[-1] if levels else None
        path = _path(level) if level else ""
        levels.append(_Level(path, isinstance(event, yaml.MappingStartEvent), bool(event.flow_style)))

    def _take_key(self, event: yaml.ScalarEvent, levels: list[_Level]) -> None:
        levels[-1].key = event.value
        if len(levels) == 1:
            span = Span(event.start_mark.index, event.end_mark.index)
            self._first_keys.append((event.value if not (event.tag or event.anchor) else "", span))

    def _add_value(self, event: yaml.ScalarEvent, level: _Level | None) -> None:
        text = event.value.strip()
        if not text:
            return
        span = Span(event.start_mark.index, event.end_mark.index)
        self._values.append(_Value(span, event.style or "", bool(level and level.flow)))
        key = _path(level) if level else ""
        self._add(Segment(len(self.segments), Markup.of(text), self._text.place(span.start), key=key))

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        source, target = self._languages
        if translations and source and target and len(self._first_keys) == 1:
            key, span = self._first_keys[0]
            if key and languages_match(source, key.replace("_", "-")):
                yield Edit(span, [spell(target, self._quote(span))])
        for number, translation in translations.items():
            value = self._values[number]
            text = translation.target.text
            if value.style in ("|", ">"):
                yield Edit(value.span, [self._block(value, text)])
            else:
                yield Edit(value.span, [spell(text, value.style, flow=value.flow)])

    def _quote(self, span: Span) -> str:
        first = self._text.text[span.start]
        return first if first in "'\"" else ""

    def _block(self, value: _Value, text: str) -> str:
        """Return a block scalar with other lines, in the indentation of the old ones."""
        raw = self._text.text[slice(*value.span)]
        found, end = _BLOCK.match(raw), _END.search(raw)
        assert end
        lines = text.split("\n")
        holds = all(line.isprintable() and line == line.rstrip() for line in lines)
        if not found or not holds or (value.style == ">" and len(lines) > 1):
            return spell(text, '"') + end[0]
        header = raw[: raw.index("\n") + 1]
        return header + "\n".join(line and found["indentation"] + line for line in lines) + end[0]


def _path(level: _Level) -> str:
    step = (level.key or "") if level.is_mapping else str(level.count)
    return f"{level.path}.{step}".removeprefix(".")[-1000:]


def _next(levels: list[_Level], key: str | None = None) -> None:
    """Advance the innermost level after a node, which was a key or a value."""
    if levels:
        level = levels[-1]
        level.count += 1
        was_key = level.is_mapping and level.key is None
        level.key = (key or "?") if was_key else None
