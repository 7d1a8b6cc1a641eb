"""SubRip subtitles (.srt)."""

import re
from collections.abc import Iterator

from multihead_documents.errors import DocumentError
from multihead_documents.inline import Item
from multihead_documents.markup import Kind, Tag
from multihead_documents.splice import Span
from multihead_documents.subtitles.cues import Cue, Subtitles, seconds

_TIME = r"(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})(?:[.,](\d{1,9}))?"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?!\S)")
_NO_TIMES = re.compile(rf".*-->|\s*-?{_TIME}\s*[^\w\s]{{1,3}}\s*-?{_TIME}")
_TAG = re.compile(r"<(/?)(i|b|u|s|font)(\s[^<>\n]*)?>|\{\\[^{}\n]*\}", re.IGNORECASE)
_LOOKALIKES = str.maketrans("<>{}", "‹›()")
"""Replacements of tag delimiters in translations: the format has no escapes."""


class SubRip(Subtitles):
    """An .srt file, with the tags ``<i>``, ``<b>``, ``<u>``, ``<s>``, ``<font>`` and ``{\\an8}``."""

    kind = "srt"
    _blank = re.compile(r"[\s\ufeff]*")
    _times = _TIMES

    def _cues(self) -> Iterator[Cue]:
        text = self._text.text
        last: Cue | None = None
        for block in self._blocks():
            number = 1 if len(block) > 1 and text[slice(*block[0])].strip("\ufeff \t").isdecimal() else 0
            span = block[number]
            line = text[span.start : span.end].removeprefix("\ufeff")
            match = _TIMES.match(line)
            if match:
                times = seconds(*match.group(1, 2, 3, 4)), seconds(*match.group(5, 6, 7, 8))
                key = text[slice(*block[0])].strip("\ufeff \t") if number else ""
                last = Cue(*times, key, block[number + 1 :])
            elif last is None or _NO_TIMES.match(line):
                fact = "no times of a subtitle (00:01:02,345 --> 00:01:04,567)"
                raise DocumentError(
                    fact, place=self._text.place(span.start), remedy="Is it an .srt file? Mend the line."
                )
            else:
                last = last._replace(lines=block)  # text after a blank line belongs to the previous cue
            if last.lines:
                yield last

    def _items(self, span: Span) -> Iterator[Item]:
        text = self._text.text
        place = span.start
        for match in _TAG.finditer(text, span.start, span.end):
            if match.start() > place:
                yield Item(text[place : match.start()], Span(place, match.start()))
            name = (match[2] or "").lower()
            kind: Kind = "alone" if not name else "close" if match[1] else "open"
            yield Item(Tag("", kind, name, match[0]), Span(*match.span()))
            place = match.end()
        if place < span.end:
            yield Item(text[place : span.end], Span(place, span.end))

    def _safe(self, text: str) -> str:
        text = _TAG.sub(lambda found: found[0].translate(_LOOKALIKES), text)
        return text.replace("-->", "→")

    def _escape(self, text: str) -> str:
        return text
