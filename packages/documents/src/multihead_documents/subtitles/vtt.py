"""WebVTT subtitles (.vtt), https://www.w3.org/TR/webvtt1/."""

import html
import re
from collections.abc import Iterator

from multihead_documents.errors import DocumentError
from multihead_documents.inline import Item
from multihead_documents.markup import Kind, Tag
from multihead_documents.splice import Span
from multihead_documents.subtitles.cues import Cue, Subtitles, seconds

_TIME = r"(?:(\d{2,}):)?([0-5]\d):([0-5]\d)\.(\d{3})"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?!\S)")
_PART = re.compile(r"<(/?)([^\s.<>&/]*)([^<>]*)>|&[#\w]+;|[^<&]+|[<&]")


class WebVtt(Subtitles):
    """A .vtt file. Header, NOTE, STYLE and REGION blocks, ids, times and settings are kept."""

    kind = "vtt"
    _blank = re.compile("")  # a line of spaces belongs to its cue
    _times = re.compile(".*?-->")

    def _cues(self) -> Iterator[Cue]:
        text = self._text.text
        if not re.match(r"\ufeff?WEBVTT(?=[ \t\r\n]|$)", text):
            raise DocumentError(
                "no WEBVTT in the first line", place=f"{self.path}:1", remedy="Is it a .vtt file?"
            )
        header = True
        for block in self._blocks():
            line = next((n for n, span in enumerate(block[:2]) if "-->" in text[slice(*span)]), None)
            if header:
                header = False
                if line is None:
                    continue
            match = None if line is None else _TIMES.match(text, block[line].start, block[line].end)
            if line is None or match is None or len(block) == line + 1:
                continue  # a note, a style, or invalid times, which players ignore
            times = seconds(*match.group(1, 2, 3, 4)), seconds(*match.group(5, 6, 7, 8))
            yield Cue(*times, text[slice(*block[0])].strip() if line else "", block[line + 1 :])

    def _items(self, span: Span) -> Iterator[Item]:
        for match in _PART.finditer(self._text.text, span.start, span.end):
            raw = match[0]
            place = Span(*match.span())
            if match[2] is None:
                yield Item(html.unescape(raw) if raw[0] == "&" else raw, place)
            else:
                # <00:01:02.000> is a time within the cue
                kind: Kind = (
                    "alone" if not match[2] or match[2][0].isdigit() else "close" if match[1] else "open"
                )
                yield Item(Tag("", kind, match[2].partition(":")[0], raw), place)

    def _speaker(self, tag: Tag) -> str:
        if tag.name != "v" or tag.kind == "close":
            return ""
        return html.unescape(tag.raw[1:-1].partition(" ")[2].strip())

    def _escape(self, text: str) -> str:
        return {"&": "&amp;", "<": "&lt;", ">": "&gt;"}.get(text, text)
