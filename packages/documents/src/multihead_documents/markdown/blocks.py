"""Blocks of Markdown, parsed by markdown-it (CommonMark, tables, strikethrough), with source offsets."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from multihead_documents.markdown.containers import contain
from multihead_documents.markdown.formulas import add_formulas
from multihead_documents.markdown.front_matter import FRONT
from multihead_documents.markdown.kept import keep, with_attributes
from multihead_documents.splice import Span

_LINE_END = re.compile(r"\r\n?|\n")
_CLOSING = re.compile(r"[ \t]+#+[ \t]*\Z")
_PIPE = re.compile(r"(?<!\\)\|")


class Block(NamedTuple):
    """A paragraph, heading or table cell."""

    content: str
    tokens: Sequence[Token]
    kind: str
    """``paragraph``, ``heading``, ``underlined`` (heading), ``title`` (of a container), ``cell`` or ``note``:
    what is said of lines that are not translated."""
    starts: Sequence[int]
    """Offsets in the content of lines, of escaped pipes and of what follows these ..."""
    places: Sequence[int]
    """... and their offsets in the file."""

    def place(self, offset: int) -> int:
        """Return the file offset of a content offset."""
        number = bisect_right(self.starts, offset) - 1
        return self.places[number] + offset - self.starts[number]

    def span(self, start: int, end: int) -> Span:
        """Return the file span of a content span."""
        last = self.content[end - 1 : end] if end > start else ""
        if last.strip():
            escaped = self.kind == "cell" and last == "|"
            return Span(self.place(start), self.place(end - 1) + 1 + escaped)
        return Span(self.place(start), self.place(end))  # a line break ends where the next line's text begins


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    rules = dict(zip(parser.inline.ruler.get_active_rules(), parser.inline.ruler.getRules(""), strict=True))
    for name in ("link", "image", "backticks"):
        rules[name] = with_attributes(rules[name])
    for name in ("newline", "escape", "backticks", "link", "image", "autolink", "html_inline"):
        parser.inline.ruler.at(name, _place(rules[name]))
    keep(parser)
    add_formulas(parser)
    contain(parser)
    return parser


def _place(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Wrap a rule to record the end offset of its last token."""

    def placed(state: StateInline, silent: bool) -> bool:
        before = len(state.tokens)
        matched = bool(rule(state, silent))
        if len(state.tokens) > before:
            state.tokens[-1].meta["end"] = state.pos
        return matched

    return placed


_PARSER = _parser()


def blocks(text: str, known: MutableMapping[str, Any]) -> Iterator[Block]:
    """Yield the blocks with inline content, and notes, without front matter, code and HTML blocks.

    Args:
        text: the file.
        known: the parser's environment; link reference definitions are added.
    """
    front = FRONT.match(text)
    begin = front.end() if front else len(text) - len(text.removeprefix("\ufeff"))
    lines: list[Span] = []
    for match in _LINE_END.finditer(text, begin):
        lines.append(Span(begin, match.start()))
        begin = match.end()
    lines.append(Span(begin, len(text)))
    tokens = _PARSER.parse(text[lines[0].start :], known)
    row: list[Token] = []
    for before, token in zip([Token("", "", 0), *tokens], tokens, strict=False):
        if token.type == "tr_open":
            row = []
        if token.type == "inline" and before.type in ("th_open", "td_open"):
            row.append(token)
        elif token.type == "untranslated" and token.map:
            yield Block(token.content, (), "note", [0], [lines[token.map[0]].start])
        elif token.type == "inline":
            yield from _block(text, lines, before, token)
        if token.type == "tr_close":
            yield from _cells(text, lines, row)


def _block(text: str, lines: Sequence[Span], before: Token, token: Token) -> Iterator[Block]:
    """Yield a paragraph or heading whose lines are located."""
    kind = "paragraph"
    if before.type == "heading_open":
        kind = "heading" if before.markup.startswith("#") else "underlined"
    elif before.type == "title_open":
        kind = "title"
    if not token.map or not token.content:
        return
    content = token.content.split("\n")
    # First lines of non-ASCII white space are missing from the content.
    for first in range(token.map[0], max(token.map[0], token.map[1] - len(content)) + 1):
        location = _locate(text, lines[first : first + len(content)], content, kind)
        if location:
            yield Block(token.content, token.children or (), kind, *location)
            return


def _locate(
    text: str, lines: Sequence[Span], content: Sequence[str], kind: str
) -> tuple[list[int], list[int]] | None:
    """Return the offsets of content lines in the content and the file; None if they differ."""
    starts: list[int] = []
    places: list[int] = []
    offset = 0
    for span, line in zip(lines, content, strict=True):
        whole = text[span.start : span.end]
        whole = (_CLOSING.sub("", whole) if kind == "heading" else whole).rstrip()
        bare = line.strip()
        at = whole.rfind(bare) if kind == "title" else len(whole) - len(bare)
        if at < 0 or not whole.startswith(bare, at):
            return None
        place = span.start + at
        starts.append(offset + len(line) - len(line.lstrip()))
        places.append(place)
        offset += len(line) + 1
    return starts, places


def _cells(text: str, lines: Sequence[Span], row: Sequence[Token]) -> Iterator[Block]:
    """Yield the cells of a row, located between its pipes."""
    if not row or not row[0].map:
        return
    span = lines[row[0].map[0]]
    cuts = [match.start() for match in _PIPE.finditer(text, span.start, span.end)]
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
            starts, places = [0], [start + len(raw) - len(spelled)]
            for number, pipe in enumerate(re.finditer(r"\|", token.content)):
                starts += pipe.span()
                places += (places[0] + pipe.start() + number, places[0] + pipe.end() + number + 1)
            yield Block(token.content, token.children or (), "cell", starts, places)
            break
