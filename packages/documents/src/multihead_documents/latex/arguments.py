"""Arguments of LaTeX's commands, the body of a file and the titles before it."""

from collections.abc import Iterator
from typing import NamedTuple

from multihead_documents.latex.commands import COMMANDS, PREAMBLE
from multihead_documents.latex.tokens import Tokens


class Argument(NamedTuple):
    """An argument: its letter in ``Command.arguments``, its brackets or braces."""

    letter: str
    start: int
    end: int


def body(tokens: Tokens) -> tuple[int, int]:
    """Return the range of the body: the whole file where no class is named, as in a chapter."""
    begin = end = None
    has_class = False
    for number, kind in enumerate(tokens.kinds):
        if kind == "begin" and begin is None and tokens.name(number) == "document":
            begin = number + 1
        elif kind == "end" and begin is not None and tokens.name(number) == "document":
            end = number
            break
        elif kind == "word" and begin is None and tokens.name(number) in ("documentclass", "documentstyle"):
            has_class = True
    if begin is None:
        begin = len(tokens) if has_class else 0
    return begin, len(tokens) if end is None else end


def titles(tokens: Tokens, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of commands in the preamble that have text."""
    number = 0
    while number < end:
        kind = tokens.kinds[number]
        if kind == "{" and tokens.partners[number] >= 0:
            number = tokens.partners[number]
        elif kind == "word" and tokens.name(number) in PREAMBLE:
            parsed = arguments(tokens, number + 1, end, COMMANDS[tokens.name(number)].arguments)
            if parsed:
                yield number, parsed[1]
                number = parsed[1] - 1
        number += 1


def arguments(tokens: Tokens, number: int, end: int, letters: str) -> tuple[list[Argument], int] | None:
    """Return the arguments that begin at a token, and the token after them; None if one is missing."""
    result: list[Argument] = []
    for letter in letters:
        at = number
        while at < end and tokens.kinds[at] in ("space", "comment"):
            at += 1
        kind = tokens.kinds[at] if at < end else ""
        optional = letter in "oO"
        if kind == ("[" if optional else "{") and 0 <= tokens.partners[at] < end:
            result.append(Argument(letter, at, tokens.partners[at]))
            number = tokens.partners[at] + 1
        elif not optional and kind == "char" and tokens.raw(at)[0] == "{":
            result.append(Argument("m", at, at))
            number = at + 1
        elif not optional and letter != "g":
            return None
    return result, number
