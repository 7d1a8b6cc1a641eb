"""Paragraphs of LaTeX, their commands as tags, found by one walk over the tokens."""

from typing import NamedTuple

from multihead_documents.inline import Item
from multihead_documents.latex.arguments import Argument, arguments, body, titles
from multihead_documents.latex.characters import decode
from multihead_documents.latex.commands import (
    COMMANDS,
    DECLARATIONS,
    DEFINITIONS,
    ENVIRONMENTS,
    FLOATS,
    TABLES,
    Command,
    is_kept,
)
from multihead_documents.latex.tokens import Tokens
from multihead_documents.markup import Kind, Tag
from multihead_documents.splice import Span

MAX_DEPTH = 20
"""Limit of texts inside one another, such as a footnote of a footnote; what is deeper is kept."""
_MOST_PARAMETERS = 40
"""Limit of tokens between ``\\def`` and the braces."""


class Block(NamedTuple):
    """A paragraph, an argument or a table's cell."""

    items: list[Item]
    is_cell: bool
    in_brackets: bool
    """True for an optional argument."""


class _Frame:
    """A range of tokens with paragraphs of its own: the body, an argument, a float."""

    def __init__(self, end: int, resume: int, in_brackets: bool = False) -> None:
        self.end = end
        self.resume = resume
        """Number of the token that is next after it."""
        self.in_brackets = in_brackets
        self.items: list[Item] = []
        self.tables: list[bool] = []
        """True for each open environment that is a table."""
        self.depth = 0
        """Number of open groups in the paragraph."""


def blocks(tokens: Tokens) -> list[Block]:
    """Return the blocks of a file in order: titles of the preamble, and the body."""
    begin, end = body(tokens)
    walk = _Walk(tokens)
    for start, last in titles(tokens, begin):
        walk.run(start, last)
    walk.run(begin, end)
    return sorted(walk.blocks, key=lambda block: block.items[0].span)


class _Walk:
    """A walk without recursion: arguments with text are frames on a stack."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.blocks: list[Block] = []
        self._frames: list[_Frame] = []
        self._closers: dict[int, int] = {}
        """The token after each closing tag that begins at a brace; -1 where it divides paragraphs."""

    def run(self, start: int, end: int) -> None:
        """Walk over a range of tokens."""
        self._frames = [_Frame(end, end)]
        number = start
        while self._frames:
            frame = self._frames[-1]
            if number >= frame.end:
                self._flush()
                self._frames.pop()
                number = frame.resume
            else:
                number = self._step(number, frame)

    def _flush(self) -> None:
        """End the paragraph."""
        frame = self._frames[-1]
        if frame.items:
            is_cell = bool(frame.tables and frame.tables[-1])
            self.blocks.append(Block(frame.items, is_cell, frame.in_brackets))
        frame.items = []
        frame.depth = 0

    def _span(self, start: int, end: int) -> Span:
        return Span(self.tokens.starts[start], self.tokens.starts[end])

    def _add(self, start: int, end: int, piece: str | Tag) -> int:
        self._frames[-1].items.append(Item(piece, self._span(start, end)))
        return end

    def _tag(
        self, start: int, end: int, name: str, kind: Kind = "alone", key: int | str = "", text: str = ""
    ) -> int:
        span = self._span(start, end)
        return self._add(start, end, Tag(str(key), kind, name, self.tokens.text[span.start : span.end], text))

    def _step(self, number: int, frame: _Frame) -> int:
        """Take the token, and what belongs to it; return the number of the next one."""
        kind, partner = self.tokens.kinds[number], self.tokens.partners[number]
        if kind in ("text", "[", "]"):
            return self._add(number, number + 1, self.tokens.raw(number))
        if kind == "space":
            return self._add(number, number + 1, " ")
        if kind == "char":
            return self._add(number, number + 1, decode(self.tokens.raw(number)))
        if kind == "word":
            return self._command(number, frame)
        if kind == "{" and number < partner < frame.end:
            return self._group(number, partner, frame)
        if kind == "}" and number in self._closers:
            after = self._closers[number]
            if after >= 0 and frame.depth:
                frame.depth -= 1
                return self._tag(number, after, "group", "close", number)
        elif kind == "$":
            if not number < partner < frame.end:
                self._flush()
                return number + 1
            is_display = self.tokens.kinds[number + 1] == "$" and partner > number + 1
            return self._tag(number, partner + 1, "display" if is_display else "math")
        elif kind == "symbol":
            return self._symbol(number, partner, frame)
        elif kind == "begin":
            return self._environment(number, partner, frame)
        elif kind in ("comment", "setting", "parameter", "code"):
            return self._tag(number, number + 1, kind)
        elif kind == "address":
            return self._address(number, frame)
        elif kind == "end" and frame.tables:
            self._flush()
            frame.tables.pop()
        self._flush()
        return number + 1

    def _group(self, number: int, partner: int, frame: _Frame) -> int:
        """Take the brace that opens a group, and the declarations after it, ``{\\bf ``."""
        inner = number + 1
        if partner == inner + 1 and self.tokens.kinds[inner] == "char":
            return self._add(number, partner + 1, decode(self.tokens.raw(inner)))  # {\\"a}
        while (
            inner < partner and self.tokens.kinds[inner] == "word" and self.tokens.name(inner) in DECLARATIONS
        ):
            inner += 1
            if self.tokens.kinds[inner] == "space":
                inner += 1
        return self._open(number, inner, partner, partner + 1, frame)

    def _open(self, number: int, inner: int, partner: int, after: int, frame: _Frame) -> int:
        """Open a tag, or end the paragraph if the group has paragraphs of its own."""
        if self.tokens.breaks[partner] > self.tokens.breaks[inner]:
            self._flush()
            self._closers[partner] = -1
            return inner
        frame.depth += 1
        self._closers[partner] = after
        return self._tag(number, inner, "group", "open", partner)

    def _symbol(self, number: int, partner: int, frame: _Frame) -> int:
        raw = self.tokens.raw(number)
        if number < partner < frame.end:
            return self._tag(number, partner + 1, "display" if raw == "\\[" else "math")
        if raw[1] in "()[]":
            self._flush()
            return number + 1
        if raw[1] != "\\":
            return self._tag(number, number + 1, "sign")
        parsed = arguments(self.tokens, number + 1, frame.end, "o")
        after = parsed[1] if parsed else number + 1
        if frame.tables and frame.tables[-1] and not frame.depth:
            self._flush()
            return after
        return self._tag(number, after, "break", text=" ")

    def _address(self, number: int, frame: _Frame) -> int:
        name = self.tokens.name(number)
        if name == "href":
            parsed = arguments(self.tokens, number + 1, frame.end, "i")
            if parsed and parsed[0][0].letter == "i":
                text = parsed[0][0]
                return self._open(number, text.start + 1, text.end, parsed[1], frame)
        return self._tag(number, number + 1, "figure" if name in COMMANDS else "address")

    def _environment(self, number: int, partner: int, frame: _Frame) -> int:
        name = self.tokens.name(number)
        ends = number < partner < frame.end
        if is_kept(name):
            if not ends:
                self._flush()
            return self._tag(number, partner + 1 if ends else frame.end, "display")
        letters = ENVIRONMENTS.get(name.rstrip("*"))
        if letters is not None:
            parsed, after = arguments(self.tokens, number + 1, frame.end, letters) or ([], number + 1)
        else:
            parsed, after = [], self._unknown_arguments(number + 1, frame.end, "")
        if name in FLOATS and ends:
            self._tag(number, partner + 1, "float")
            if len(self._frames) > MAX_DEPTH:
                return partner + 1
            self._frames.append(_Frame(partner, partner + 1))
            return after
        self._flush()
        frame.tables.append(name in TABLES)
        return self._texts(parsed, after)

    def _command(self, number: int, frame: _Frame) -> int:
        name = self.tokens.name(number)
        command = COMMANDS.get(name, Command("", "layout") if name in DECLARATIONS else None)
        if name in DEFINITIONS:
            at = number + 1
            while at < min(frame.end, number + _MOST_PARAMETERS) and self.tokens.kinds[at] not in (
                "{",
                "par",
            ):
                at += 1
            partner = self.tokens.partners[at] if at < frame.end else -1
            return self._tag(number, partner + 1 if at < partner < frame.end else number + 1, "setting")
        parsed = arguments(self.tokens, number + 1, frame.end, command.arguments) if command else None
        if not command or not parsed:
            return self._tag(number, self._unknown_arguments(number + 1, frame.end, " "), "command")
        arguments_read, after = parsed
        if not arguments_read:
            # An empty group ends the name.
            after = number + 1 + (self._is(number + 1, "{}") and number + 1 < frame.end)
        if command.role == "divider":
            self._flush()
            return self._texts(arguments_read, after)
        inline = next((argument for argument in arguments_read if argument.letter == "i"), None)
        if inline:
            return self._open(number, inline.start + 1, inline.end, after, frame)
        if (
            command.role == "layout"
            and after == number + 1
            and self.tokens.kinds[after : after + 1] == ["space"]
        ):
            after = min(after + 1, frame.end)
        self._tag(number, after, "layout" if command.role == "layout" else "known")
        return self._texts(arguments_read, after)

    def _is(self, number: int, spelling: str) -> bool:
        return number < len(self.tokens) and self.tokens.raw(number) == spelling

    def _texts(self, taken: list[Argument], after: int) -> int:
        """Enter the arguments that have text of their own; return the number of the next token."""
        texts = [argument for argument in taken if argument.letter in "Otg"]
        if len(self._frames) > MAX_DEPTH:
            return after
        for argument in reversed(texts):
            self._frames.append(_Frame(argument.end, after, argument.letter == "O"))
            after = argument.start + 1
        return after

    def _unknown_arguments(self, number: int, end: int, gap: str) -> int:
        """Return the token after all arguments that follow; ``gap`` allows spaces before a brace."""
        kinds, partners = self.tokens.kinds, self.tokens.partners
        while number < end:
            at = number
            if gap and kinds[at] == "space" and at + 1 < end and kinds[at + 1] == "{":
                at += 1
            if kinds[at] in ("{", "[") and at < partners[at] < end:
                number = partners[at] + 1
            elif kinds[at] == "char" and self.tokens.raw(at)[0] == "{":
                number = at + 1
            else:
                break
        return number
