"""Advanced SubStation Alpha subtitles (.ass): the text of dialogues (libass, "ASS File Format Guide")."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from multihead_documents.errors import DocumentError
from multihead_documents.inline import Inline, Item, pair_tags, parts, trim
from multihead_documents.markup import Kind, Tag
from multihead_documents.plain_text import one_line
from multihead_documents.reading import Text, lines_of
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.subtitles.cues import lead_end, seconds
from multihead_documents.text_document import TextDocument

_DRAWING = r"\{[^{}]*\\p[1-9][^{}]*\}(?:(?!\{[^{}]*\\p0).)*(?:\{[^{}]*\\p0[^{}]*\})?"
_CODE = re.compile(rf"{_DRAWING}|\{{[^{{}}]*\}}|\\[Nnh]")
"""A drawing, override tags, a line break or hard space."""
_SWITCH = re.compile(r"\{\\([ibus])([01]?)\}")
_TIME = re.compile(r"\s*(\d{1,3}):(\d{1,2}):(\d{1,2})(?:[.:](\d{1,9}))?\s*\Z")
_LOOKALIKES = str.maketrans("{}", "()")
"""Replacements of signs of codes in translations: the format has no escapes."""
_BREAK = re.compile(r"\\(?=[Nnh])")


class SubStation(TextDocument):
    """An .ass file. Styles, times, override tags, drawings, comments and ``\\N`` are kept."""

    kind = "ass"

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path, text)
        self._contents: list[Inline] = []
        section, columns = "", []
        for line in lines_of(text.text):
            content = text.text[slice(*line)]
            name, _, rest = content.partition(":")
            if content.lstrip("\ufeff").startswith("["):
                section = content.strip("\ufeff \t").lower()
            elif section == "[events]" and name.strip().lower() == "format":
                columns = [column.strip().lower() for column in rest.split(",")]
            elif section == "[events]" and name.strip().lower() == "dialogue":
                if columns[-1:] != ["text"]:
                    remedy = "Its Format line names the columns; the last one is Text."
                    raise DocumentError(
                        "a dialogue without columns", place=text.place(line.start), remedy=remedy
                    )
                self._add_dialogue(line, columns)

    def _add_dialogue(self, line: Span, columns: list[str]) -> None:
        text = self._text
        begin = text.text.index(":", line.start) + 1
        values = text.text[begin : line.end].split(",", len(columns) - 1)
        if len(values) < len(columns):
            fact = f"{len(values)} columns, not {len(columns)}"
            raise DocumentError(fact, place=text.place(line.start), remedy="Mend the line.")
        span = Span(line.end - len(values[-1]), line.end)
        items = list(self._items(Span(lead_end(text.text, span), span.end)))
        inline = trim(pair_tags(items), text.place(line.start), loose=lambda tag: True)
        if inline is None:
            return
        named = dict(zip(columns, values, strict=True))
        start, end = (_TIME.match(named.get(name, "")) for name in ("start", "end"))
        self._contents.append(inline)
        self._add(
            Segment(
                len(self.segments),
                inline.markup,
                text.place(line.start),
                speaker=named.get("name", "").strip(),
                start=seconds(*start.groups()) if start else None,
                end=seconds(*end.groups()) if end else None,
            )
        )

    def _items(self, span: Span) -> Iterator[Item]:
        text, place = self._text.text, span.start
        for match in _CODE.finditer(text, *span):
            if match.start() > place:
                yield Item(text[place : match.start()], Span(place, match.start()))
            switch = _SWITCH.fullmatch(match[0])
            kind: Kind = "alone" if not switch else "open" if switch[2] == "1" else "close"
            stand_in = " " if match[0][0] == "\\" else ""
            name = switch[1] if switch else match[0]
            yield Item(Tag("", kind, name, match[0], stand_in), Span(*match.span()))
            place = match.end()
        if place < span.end:
            yield Item(text[place : span.end], Span(place, span.end))

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        for number, translation in translations.items():
            inline = self._contents[number]
            yield Edit(inline.span, parts(translation.target, inline.tags, _escape))


def _escape(text: str) -> str:
    return _BREAK.sub("⧵", one_line(text).translate(_LOOKALIKES))
