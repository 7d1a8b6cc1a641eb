"""Inline content of Markdown, located in its block token by token."""

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from multihead_documents.inline import Item
from multihead_documents.markdown.blocks import Block
from multihead_documents.markup import Kind, Tag

_ATOM = re.compile(r"\[\^[^\]\s]+\]:?|\A\[[ xX]\](?=\s)")
"""A footnote mark, or the checkbox of a task."""
_PART = re.compile(r"\||[^|]+")
_ALERT = re.compile(r"\[![A-Za-z]+\]")
_HTML = re.compile(r"<(/?)([a-zA-Z][\w-]*)")
_VOID = frozenset(("area", "br", "col", "hr", "img", "input", "wbr"))


def inline_items(block: Block) -> list[Item] | None:
    """Return the unpaired items of a block; None if a token cannot be located.

    The ``key`` of a tag that closes a shortcut reference ``[label]`` is its label.
    """
    try:
        return list(_Walk(block, block.content, 0).items(block.tokens))
    except _MisplacedError:
        return None


class _MisplacedError(Exception):
    """A token that cannot be located."""


class _Walk:
    """A walk over inline tokens that locates each where the last one ended."""

    def __init__(self, block: Block, content: str, base: int) -> None:
        self.block = block
        self.content = content
        self.base = base
        """Offset of the content in the block's."""
        self.at = 0
        self.labels: list[int] = []
        """Offsets of the labels of open links."""

    def items(self, tokens: Sequence[Token]) -> Iterator[Item]:
        """Yield the items of a content."""
        types = [token.type for token in tokens[:2]]
        if types == ["text", "softbreak"] and _ALERT.fullmatch(tokens[0].content):
            yield self._tag(tokens[1].meta["end"], "alone", "alert")
            tokens = tokens[2:]
        hidden = False
        for token in tokens:
            if token.markup == "autolink" and token.nesting:
                hidden = token.nesting > 0
                if not hidden:
                    yield self._tag(token.meta["end"], "alone", "autolink")
            elif not hidden:
                yield from self._token(token)
        if self.content[self.at :].strip():
            raise _MisplacedError

    def _token(self, token: Token) -> Iterator[Item]:
        name = token.type.removesuffix("_open").removesuffix("_close")
        kind: Kind = "open" if token.nesting > 0 else "close" if token.nesting else "alone"
        if token.type == "text":
            yield from self._texts(token.content)
        elif token.type == "text_special":
            yield self._item(token.content, self._find(token.markup))
        elif token.type == "placeholder":
            yield self._item(token.content, token.meta["end"])
        elif token.type == "softbreak":
            yield self._item(" ", token.meta["end"])
        elif token.type == "html_inline":
            yield self._html(token.content)
        elif name in ("em", "strong", "s"):
            yield self._tag(self._find(token.markup), kind, name)
        elif name == "image":
            yield from self._image(token)
        elif token.type == "link_open":
            self.labels.append(self.at + 1)
            yield self._tag(self._find("["), kind, name)
        elif token.type == "link_close":
            self._find("]")
            label = self.content[self.labels.pop() : self.at]
            yield self._tag(token.meta["end"], kind, name, label)
        else:
            yield self._tag(token.meta["end"], kind, name)

    def _find(self, spelling: str) -> int:
        """Return the end of a string that must be at the current offset."""
        if not self.content.startswith(spelling, self.at):
            raise _MisplacedError
        return self.at + len(spelling)

    def _item(self, piece: str | Tag, end: int) -> Item:
        start, self.at = self.at, end
        return Item(piece, self.block.span(self.base + start, self.base + end))

    def _tag(self, end: int, kind: Kind, name: str, label: str = "") -> Item:
        raw = self.content[self.at : end]
        key = label if raw in ("]", "][]") else ""
        return self._item(Tag("", kind, name, raw, " " if name == "hardbreak" else "", key), end)

    def _image(self, token: Token) -> Iterator[Item]:
        yield self._tag(self._find("!["), "open", "image")
        yield from _Walk(self.block, token.content, self.base + self.at).items(token.children or ())
        self.at = self._find(token.content)
        yield self._tag(token.meta["end"], "close", "image", token.content)

    def _html(self, raw: str) -> Item:
        end = self._find(raw)
        match = _HTML.match(raw)
        if not match or match[2].lower() in _VOID or raw.endswith("/>"):
            return self._tag(end, "alone", match[2].lower() if match else "html")
        return self._tag(end, "close" if match[1] else "open", f"<{match[2].lower()}>")

    def _texts(self, text: str) -> Iterator[Item]:
        """Yield text, with footnote marks and task checkboxes as tags."""
        start, end = self.base + self.at, self._find(text)
        begun = self.at
        for match in _ATOM.finditer(text):
            if match[0][1] != "^" and start > 0:
                continue
            yield from self._plain(begun + match.start())
            yield self._tag(begun + match.end(), "alone", "mark")
        yield from self._plain(end)

    def _plain(self, end: int) -> Iterator[Item]:
        """Yield text; a pipe, which is escaped in a cell, is an item of its own."""
        for part in _PART.findall(self.content, self.at, end):
            yield self._item(part, self.at + len(part))
