"""Markdown (CommonMark, tables, strikethrough) parsed by markdown-it, every piece with its place."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from multihead.documents.inline import Item
from multihead.documents.markup import Kind, Tag
from multihead.documents.splice import Span

_LINE_END = re.compile(r"\r\n?|\n")
_FRONT = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n(?:[^\n]*\n)*?(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)")
_CLOSING = re.compile(r"[ \t]+#+[ \t]*\Z")
_ATOM = re.compile(r"\[\^[^\]\s]+\]:?|\A\[[ xX]\](?=\s)")
"""A footnote's mark; the box of a task."""
_ALERT = re.compile(r"\[![A-Za-z]+\]")
_HTML = re.compile(r"<(/?)([a-zA-Z][\w-]*)")
_PIPE = re.compile(r"(?<!\\)\|")
_VOID = frozenset(("area", "br", "col", "hr", "img", "input", "wbr"))


class Block(NamedTuple):
    """A paragraph, heading or cell: its content without the marks of its block, its tokens, its kind."""

    content: str
    tokens: Sequence[Token]
    kind: str
    """``paragraph``, ``heading``, ``underlined`` (heading) or ``cell``."""
    starts: Sequence[int]
    """Where lines, and parts without an escaped pipe, begin in the content ..."""
    places: Sequence[int]
    """... and in the file."""

    def place(self, offset: int) -> int:
        """Return the place in the file of a character of the content."""
        number = bisect_right(self.starts, offset) - 1
        return self.places[number] + offset - self.starts[number]

    def span(self, start: int, end: int) -> Span:
        """Return the place of a part of the content."""
        if end > start and not self.content[end - 1].isspace():
            return Span(self.place(start), self.place(end - 1) + 1)
        return Span(self.place(start), self.place(end))  # a line break ends where the next line's text begins


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    rules = dict(zip(parser.inline.ruler.get_active_rules(), parser.inline.ruler.getRules(""), strict=True))
    for name in ("newline", "escape", "backticks", "link", "image", "autolink", "html_inline"):
        parser.inline.ruler.at(name, _placed(rules[name]))
    reference = parser.block.ruler.getRules("")[parser.block.ruler.get_active_rules().index("reference")]
    parser.block.ruler.at(
        "reference", lambda state, *rest: not _is_footnote(state, *rest) and reference(state, *rest)
    )
    return parser


def _is_footnote(state: StateBlock, line: int, *_: object) -> bool:
    """True for ``[^1]: a footnote``, which would be the definition of a link with the address ``a``."""
    return state.src.startswith("[^", state.bMarks[line] + state.tShift[line])


def _placed(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Return a rule that also notes where its last token ends."""

    def placed(state: StateInline, silent: bool) -> bool:
        before = len(state.tokens)
        found = bool(rule(state, silent))
        if len(state.tokens) > before:
            state.tokens[-1].meta["end"] = state.pos
        return found

    return placed


_PARSER = _parser()


def blocks(text: str, known: MutableMapping[str, Any]) -> Iterator[Block]:
    """Yield the blocks of a file that hold sentences; front matter, code and HTML blocks are left out.

    Args:
        text: the file.
        known: the parser's memory: link targets that the file defines are added to it.
    """
    front = _FRONT.match(text)
    begin = front.end() if front else len(text) - len(text.removeprefix("\ufeff"))
    lines: list[Span] = []
    for found in _LINE_END.finditer(text, begin):
        lines.append(Span(begin, found.start()))
        begin = found.end()
    lines.append(Span(begin, len(text)))
    tokens = _PARSER.parse(text[lines[0].start :], known)
    row: list[Token] = []
    for before, token in zip([Token("", "", 0), *tokens], tokens, strict=False):
        if token.type == "tr_open":
            row = []
        if token.type == "inline" and before.type in ("th_open", "td_open"):
            row.append(token)
        elif token.type == "inline":
            yield from _block(text, lines, before, token)
        if token.type == "tr_close":
            yield from _cells(text, lines, row)


def _block(text: str, lines: Sequence[Span], before: Token, token: Token) -> Iterator[Block]:
    """Yield a paragraph or heading, if each of its lines is found."""
    kind = "paragraph"
    if before.type == "heading_open":
        kind = "heading" if before.markup.startswith("#") else "underlined"
    if not token.map or not token.content:
        return
    content = token.content.split("\n")
    # A first line may be missing: white space that is none to Markdown, such as a no-break space.
    for first in range(token.map[0], max(token.map[0], token.map[1] - len(content)) + 1):
        found = _located(text, lines[first : first + len(content)], content, kind)
        if found:
            yield Block(token.content, token.children or (), kind, *found)
            return


def _located(
    text: str, lines: Sequence[Span], content: Sequence[str], kind: str
) -> tuple[list[int], list[int]] | None:
    """Return where lines of a block's content begin in it and in the file; None if they are others."""
    starts: list[int] = []
    places: list[int] = []
    offset = 0
    for span, line in zip(lines, content, strict=True):
        whole = text[span.start : span.end]
        whole = (_CLOSING.sub("", whole) if kind == "heading" else whole).rstrip()
        bare = line.strip()
        if not whole.endswith(bare):
            return None
        place = span.start + len(whole) - len(bare)
        starts.append(offset + len(line) - len(line.lstrip()))
        places.append(place)
        offset += len(line) + 1
    return starts, places


def _cells(text: str, lines: Sequence[Span], row: Sequence[Token]) -> Iterator[Block]:
    """Yield the cells of a row that are found between its pipes, one after the other."""
    if not row or not row[0].map:
        return
    span = lines[row[0].map[0]]
    cuts = [found.start() for found in _PIPE.finditer(text, span.start, span.end)]
    fields = list(zip([span.start, *(cut + 1 for cut in cuts)], [*cuts, span.end], strict=True))
    at = 0
    for token in row:
        while token.content and at < len(fields):
            start, end = fields[at]
            at += 1
            raw = text[start:end].rstrip()
            content = raw.replace("\\|", "|")
            if not content.endswith(token.content):
                continue
            spelled = token.content.replace("|", "\\|")
            if not raw.endswith(spelled):
                break
            place = start + len(raw) - len(spelled)
            pipes = [found.start() for found in re.finditer(r"\|", token.content)]
            places = [place, *(place + pipe + number for number, pipe in enumerate(pipes, start=1))]
            yield Block(token.content, token.children or (), "cell", [0, *pipes], places)
            break


def inline_items(block: Block) -> list[Item] | None:
    """Return the texts and tags of a block, not yet paired; None where a piece is not found in its place.

    The ``key`` of a tag that ends ``[a link]`` without an address is its label, ``a link``.
    """
    try:
        return list(_Walk(block, block.content, 0).items(block.tokens))
    except _MisplacedError:
        return None


class _MisplacedError(Exception):
    """A piece that is not where the tokens say."""


class _Walk:
    """A walk over tokens, each found in the content where the last one ended."""

    def __init__(self, block: Block, content: str, base: int) -> None:
        self.block = block
        self.content = content
        self.base = base
        """The place of the content in the block's."""
        self.at = 0
        self.labels: list[int] = []
        """Where the labels of the links that are open begin."""

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
            yield self._item(token.content, self._found(token.markup))
        elif token.type == "softbreak":
            yield self._item(" ", token.meta["end"])
        elif token.type == "html_inline":
            yield self._html(token.content)
        elif name in ("em", "strong", "s"):
            yield self._tag(self._found(token.markup), kind, name)
        elif name == "image":
            yield from self._image(token)
        elif token.type == "link_open":
            self.labels.append(self.at + 1)
            yield self._tag(self._found("["), kind, name)
        elif token.type == "link_close":
            self._found("]")
            label = self.content[self.labels.pop() : self.at]
            yield self._tag(token.meta["end"], kind, name, label)
        else:
            yield self._tag(token.meta["end"], kind, name)

    def _found(self, spelling: str) -> int:
        """Return where a spelling ends that must be here."""
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
        yield self._tag(self._found("!["), "open", "image")
        yield from _Walk(self.block, token.content, self.base + self.at).items(token.children or ())
        self.at = self._found(token.content)
        yield self._tag(token.meta["end"], "close", "image", token.content)

    def _html(self, raw: str) -> Item:
        end = self._found(raw)
        found = _HTML.match(raw)
        if not found or found[2].lower() in _VOID or raw.endswith("/>"):
            return self._tag(end, "alone", found[2].lower() if found else "html")
        return self._tag(end, "close" if found[1] else "open", f"<{found[2].lower()}>")

    def _texts(self, text: str) -> Iterator[Item]:
        """Yield a plain text, footnotes' marks and tasks' boxes in it as tags."""
        start, end = self.base + self.at, self._found(text)
        begun = self.at
        for found in _ATOM.finditer(text):
            if found[0][1] != "^" and start > 0:
                continue
            if begun + found.start() > self.at:
                yield self._item(self.content[self.at : begun + found.start()], begun + found.start())
            yield self._tag(begun + found.end(), "alone", "mark")
        if end > self.at:
            yield self._item(self.content[self.at : end], end)
