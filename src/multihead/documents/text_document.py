"""A document that is text: segments are spans of characters, writing replaces them."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from multihead.documents.document import Document
from multihead.documents.reading import Text
from multihead.documents.segment import Translation
from multihead.documents.splice import Edit, Span, spliced


class TextDocument(Document):
    """A document of which every segment is a span of its text."""

    unencodable = "strict"
    """How characters that the encoding lacks are written: an error handler of ``str.encode``."""

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path)
        self._text = text

    @abstractmethod
    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        """Yield the replacements that put the translations in place."""

    def _rendered(self, translations: Mapping[int, Translation]) -> bytes:
        text = spliced(self._text.text, self._edits(translations))
        return self._text.encoded(text, self.unencodable)


def without_space(text: str, span: Span, unit: re.Pattern[str], spoken: Callable[[str], str]) -> Span:
    """Return the place of a spelled text without the white space at its ends, spelled however it may be.

    Args:
        text: the file.
        span: the whole text.
        unit: a letter, or an escape.
        spoken: the letter that an escape stands for.
    """
    first = last = span.end
    for found in unit.finditer(text, span.start, span.end):
        if spoken(found[0]).strip():
            first = min(first, found.start())
            last = found.end()
    return Span(first, last)
