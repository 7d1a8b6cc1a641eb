"""Base class of text documents: segments are spans of characters."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from multihead_documents.document import Document
from multihead_documents.reading import Text
from multihead_documents.segment import Translation
from multihead_documents.splice import Edit, Span, splice


class TextDocument(Document):
    """A document with segments that are spans of its text."""

    unencodable = "strict"
    """Error handler of ``str.encode`` for characters that the encoding cannot represent."""

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path)
        self._text = text

    @abstractmethod
    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        """Yield the edits of these translations."""

    def translated(self, translations: Mapping[int, Translation]) -> str:
        """Return the text with these translations."""
        return splice(self._text.text, self._edits(translations))

    def _render(self, translations: Mapping[int, Translation]) -> bytes:
        return self._text.encode_text(self.translated(translations), self.unencodable)


def stripped_span(text: str, span: Span, unit: re.Pattern[str], decode: Callable[[str], str]) -> Span:
    """Return the span of an escaped text without leading and trailing white space, escaped or not.

    Args:
        text: the file.
        span: the whole text.
        unit: a letter, or an escape.
        decode: the letter that an escape stands for.
    """
    first = last = span.end
    for match in unit.finditer(text, span.start, span.end):
        if decode(match[0]).strip():
            first = min(first, match.start())
            last = match.end()
    return Span(first, last)
