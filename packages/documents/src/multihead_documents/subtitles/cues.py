"""Subtitle documents: cues whose lines are joined for translation and wrapped again."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from multihead_documents.inline import Inline, Item, pair_tags, trim
from multihead_documents.markup import Tag
from multihead_documents.reading import Text, lines_of, newline
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.subtitles.line_wrapping import DASHES, separator, width, wrap
from multihead_documents.text_document import TextDocument

MIN_COLUMNS = 37
"""Minimum line width limit: that of teletext, the shortest in use."""

_NAME = r"[A-ZÀ-ÖØ-Þ][A-ZÀ-ÖØ-Þ0-9 .'’-]{1,30}(?: \([^()\n]{1,30}\))?:(?=\s)"
_LEAD = re.compile(rf"\s*(?:[{DASHES}]\s*)?(?:\[[^\[\]\n]{{1,60}}\]\s*)?(?:{_NAME}\s*)?")
"""Beginning of a speaker's line: a dash, a sound ``[door slams]``, the name in capitals."""


def lead_end(text: str, line: Span) -> int:
    """Return the place in a line after the dash, sound and name that it begins with."""
    match = _LEAD.match(text, line.start, line.end)
    return match.end() if match and match[0].strip() else line.start


class Cue(NamedTuple):
    """A subtitle: times in seconds, id, spans of its lines without their ends."""

    start: float
    end: float
    key: str
    lines: Sequence[Span]


class Subtitles(TextDocument):
    """A subtitle file. Numbers, times, settings, styles and notes are kept."""

    _blank: re.Pattern[str]
    """A line that ends a block."""
    _times: re.Pattern[str]
    """A line that begins a subtitle, even without a blank line before it."""

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path, text)
        self._contents: list[Inline] = []
        lines: list[tuple[Cue, list[Span]]] = []
        widest = MIN_COLUMNS
        for cue in self._cues():
            for group in self._turns(cue.lines):
                lines.append((cue, group))
            widest = max(widest, *(self._width(line) for line in cue.lines))
        self.limit = widest
        for cue, group in lines:
            self._add_turn(cue, group)

    @abstractmethod
    def _cues(self) -> Iterator[Cue]:
        """Yield the cues with text, in file order."""

    @abstractmethod
    def _items(self, span: Span) -> Iterator[Item]:
        """Yield the unpaired items of a line."""

    @abstractmethod
    def _escape(self, text: str) -> str:
        """Escape a single character of a translation."""

    def _blocks(self) -> Iterator[list[Span]]:
        """Yield blocks of lines. A blank line ends one, as do times, with the number before them."""
        text = self._text.text
        block: list[Span] = []
        for line in lines_of(text):
            if self._blank.fullmatch(text, *line):
                if block:
                    yield block
                block = []
                continue
            if self._times.match(text, *line):
                first = len(block) - bool(block and text[slice(*block[-1])].strip("\ufeff \t").isdecimal())
                if first > 0:
                    yield block[:first]
                    block = block[first:]
            block.append(line)
        if block:
            yield block

    def _speaker(self, tag: Tag) -> str:
        """Return the speaker that a tag names, "" if none."""
        return ""

    def _turns(self, lines: Sequence[Span]) -> Iterator[list[Span]]:
        """Group lines by speaker: a dash, a sound, a name or a speaker tag starts a new group."""
        text = self._text.text
        turn: list[Span] = []
        for line in lines:
            begin = lead_end(text, line)
            if turn and (begin > line.start or any(self._speaker(tag) for tag in self._tags(line))):
                yield turn
                turn = []
            turn.append(Span(begin, line.end))
        yield turn

    def _tags(self, line: Span) -> Iterator[Tag]:
        return (item.piece for item in self._items(line) if isinstance(item.piece, Tag))

    def _width(self, line: Span) -> int:
        return width("".join(item.piece for item in self._items(line) if isinstance(item.piece, str)))

    def _add_turn(self, cue: Cue, lines: Sequence[Span]) -> None:
        items: list[Item] = []
        last = ""
        for line in lines:
            found = list(self._items(line))
            visible = "".join(item.piece for item in found if isinstance(item.piece, str)).strip()
            if items:
                items.append(Item(separator(last, visible), Span(items[-1].span.end, line.start)))
            items += found
            last = visible or last
        place = self._text.place(lines[0].start)
        inline = trim(pair_tags(items), place, loose=lambda tag: True)
        if inline is None:
            return
        speaker = next(filter(None, (self._speaker(tag) for line in lines for tag in self._tags(line))), "")
        self._contents.append(inline)
        self._add(
            Segment(
                len(self.segments),
                inline.markup,
                place,
                key=cue.key,
                speaker=speaker,
                start=cue.start,
                end=cue.end,
                max_length=self.limit * max(2, len(lines)),
            )
        )

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        text = self._text.text
        end = newline(text)
        for number, translation in translations.items():
            inline = self._contents[number]
            spans = inline.tags
            pieces = [
                (self._safe(piece), True) if isinstance(piece, str) else (text[slice(*spans[piece])], False)
                for piece in translation.target.pieces
            ]
            yield Edit(inline.span, [wrap(pieces, self.limit, end, self._escape)])

    def _safe(self, text: str) -> str:
        """Replace markup in a translation, for formats without escapes."""
        return text


def seconds(hours: str | None, minutes: str, rest: str, fraction: str | None) -> float:
    """Return a time in seconds. ``fraction`` holds the decimals.

    >>> seconds("1", "02", "03", "5")
    3723.5
    """
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(rest) + float(f"0.{fraction or 0}")
