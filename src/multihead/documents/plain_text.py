"""Plain text (.txt): one segment a line."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from multihead.documents.markup import Markup
from multihead.documents.reading import Text
from multihead.documents.segment import Segment, Translation
from multihead.documents.splice import Edit, Span
from multihead.documents.text_document import TextDocument

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_BREAK = re.compile(r"[^\S\n\r]*[\r\n]\s*")


class PlainText(TextDocument):
    """A text file. Line ends, and white space at the ends of lines, are kept."""

    kind = "text"

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path, text)
        self._spans: list[Span] = []
        for number, line in enumerate(_LINE.finditer(text.text), start=1):
            content = line[0].strip("\ufeff").strip()
            if content:
                start = line.start() + line[0].index(content)
                self._spans.append(Span(start, start + len(content)))
                self._add(Segment(len(self.segments), Markup.of(content), f"{path}:{number}"))

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        for number, translation in translations.items():
            yield Edit(self._spans[number], [one_line(translation.target.text)])


def one_line(text: str) -> str:
    """Replace each line break, and the white space around it, by a space."""
    return _BREAK.sub(" ", text)
