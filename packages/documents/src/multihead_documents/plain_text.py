"""Plain text (.txt): one segment a line."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from multihead_documents.markup import Markup
from multihead_documents.reading import Text
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.text_document import TextDocument

_LINE = re.compile(r"([^\r\n\v\f\x85\u2028\u2029]*)(\r\n|.|\Z)", re.DOTALL)
"""A line of Unicode (Unicode Standard, sec. 5.8), and its end: a form feed and NEL are ends too."""
_BREAK = re.compile(r"[^\S\r\n\v\f\x85\u2028\u2029]*[\r\n\v\f\x85\u2028\u2029]\s*")


class PlainText(TextDocument):
    """A text file. Line and page ends, and white space beside them, are kept."""

    kind = "text"

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path, text)
        self._spans: list[Span] = []
        number = 1
        for line in _LINE.finditer(text.text):
            content = line[1].strip("\ufeff").strip()
            if content:
                start = line.start() + line[1].index(content)
                self._spans.append(Span(start, start + len(content)))
                self._add(Segment(len(self.segments), Markup.of(content), f"{path}:{number}"))
            number += line[2] in ("\n", "\r\n", "\r")

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        for number, translation in translations.items():
            yield Edit(self._spans[number], [one_line(translation.target.text)])


def one_line(text: str) -> str:
    """Replace each line break, and the white space around it, by a space."""
    return _BREAK.sub(" ", text)
