"""Web pages in the syntax of XML (.xhtml, chapters of e-books)."""

import re
from collections.abc import Iterator
from pathlib import Path

from multihead_documents.errors import DocumentError
from multihead_documents.markup import Tag
from multihead_documents.reading import Text, decode
from multihead_documents.web.elements import UNTRANSLATED
from multihead_documents.web.html import Page
from multihead_documents.web.tokens import Token, html_tokens
from multihead_documents.xml.events import FORBIDDEN, xml_encoding

_ROOT = re.compile(r"<[a-zA-Z]")
_DECLARED = re.compile(rb"""\A(?:\xef\xbb\xbf)?<\?xml\s[^>]{0,200}?\sencoding\s*=""")


def xhtml_text(data: bytes, path: Path, encoding: str | None = None) -> Text:
    """Decode a page in the encoding of its byte-order mark or XML declaration.

    Args:
        data: the file.
        path: its name, for errors.
        encoding: of a page that declares none; UTF-8 if not given.

    Raises:
        DocumentError: invalid bytes; it declares an entity.
    """
    named = xml_encoding(data) if _DECLARED.match(data) else encoding
    text = decode(data, path, named)
    root = _ROOT.search(text.text)
    entity = text.text.find("<!ENTITY", 0, root.start() if root else None)
    if entity >= 0:
        remedy = "Write out what it stands for, and remove the declaration."
        raise DocumentError("declares an entity", place=text.place(entity), remedy=remedy)
    return text


class XhtmlPage(Page):
    """A page of XHTML. Named characters such as ``&nbsp;`` are read without its DTD."""

    void = frozenset()
    untranslated = UNTRANSLATED | {"rt", "rp"}  # readings of Chinese characters, which always end with a tag

    def _tokens(self, text: str) -> Iterator[Token]:
        return html_tokens(text, xml=True)

    def _is_loose(self, tag: Tag) -> bool:
        anchor = tag.name in ("a", "span") and tag.raw.endswith("/>")
        return anchor or super()._is_loose(tag)

    def _escape(self, text: str, quote: str = "") -> str:
        return super()._escape(FORBIDDEN.sub("\ufffd", text.replace("\f", " ")), quote)
