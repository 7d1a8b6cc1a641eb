"""Base class of bilingual XML documents (XLIFF, TMX)."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path

from multihead_documents.document import Document
from multihead_documents.inline import Inline, parts
from multihead_documents.segment import Translation
from multihead_documents.splice import Edit, Span, splice
from multihead_documents.xml.events import escape, xml_encoding

Parts = list[bytes | Span]


class XmlDocument(Document):
    """A document with segments in one XML file."""

    def __init__(self, path: Path, data: bytes) -> None:
        super().__init__(path)
        self._data = data
        self._encoding = xml_encoding(data)

    @abstractmethod
    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[bytes]]:
        """Yield the edits of these translations."""

    def _render(self, translations: Mapping[int, Translation]) -> bytes:
        return splice(self._data, self._edits(translations))

    def _bytes(self, text: str) -> bytes:
        """Encode markup, with references for characters that the encoding cannot represent."""
        return text.encode(self._encoding, "xmlcharrefreplace")

    def _escape(self, text: str) -> bytes:
        """Escape and encode a text."""
        return self._bytes(escape(text))

    def _size(self, text: str) -> int:
        return len(self._bytes(text))

    def _content(self, source: Inline, translation: Translation) -> Parts:
        """Return the content of a target: the translation with the source's lead and trail."""
        core = parts(translation.target, source.tags, self._escape)
        return [*(item.span for item in source.lead), *core, *(item.span for item in source.trail)]

    def _text(self, span: Span) -> str:
        return self._data[span.start : span.end].decode(self._encoding, "replace")

    def _indentation(self, start: int) -> bytes:
        """Return the white space before a tag."""
        unit = len("\n".encode(self._encoding))
        begun = start
        while (
            begun >= unit and self._data[begun - unit : begun].decode(self._encoding, "replace") in " \t\r\n"
        ):
            begun -= unit
        return self._data[begun:start]

    def _with_attributes(self, span: Span, changes: Mapping[str, str | None]) -> bytes:
        """Return a start tag with attributes set, or removed (None)."""
        return self._bytes(with_attributes(self._text(span), changes))


def with_attributes(tag: str, changes: Mapping[str, str | None]) -> str:
    """Return a start tag with attributes set, or removed (None).

    >>> with_attributes("<target state='new' />", {"state": "final", "x": "1"})
    "<target state='final' x='1' />"
    """
    for name, value in changes.items():
        found = next((match for match in _ATTRIBUTE.finditer(tag) if match[2] == name), None)
        spelling = "" if value is None else escape(value).replace('"', "&quot;").replace("'", "&#39;")
        if found and value is None:
            tag = tag[: found.start()] + tag[found.end() :]
        elif found:
            tag = tag[: found.start(3) + 1] + spelling + tag[found.end(3) - 1 :]
        elif value is not None:
            last = next(iter(_ATTRIBUTE.findall(tag)), ("", "", '"'))[2][0]
            end = re.search(r"\s*/?>\Z", tag)
            assert end
            tag = f"{tag[: end.start()]} {name}={last}{spelling}{last}{tag[end.start() :]}"
    return tag


_ATTRIBUTE = re.compile(r"""(\s+)([^\s=<>"'/]+)\s*=\s*("[^"]*"|'[^']*')""")


def start_tag(tag: str) -> str:
    """Turn an empty-element tag ``<x/>`` into a start tag."""
    return re.sub(r"\s*/>\Z", ">", tag)


def prefix_of(tag: str) -> str:
    """Return the namespace prefix of a tag with the colon, "" if none."""
    match = re.match(r"<([^\s:<>/]+:)", tag)
    return match[1] if match else ""
