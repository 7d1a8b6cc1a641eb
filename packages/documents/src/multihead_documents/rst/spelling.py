"""Spelling of translations in reStructuredText: escapes, and the places where markup may begin and end."""

import re
from collections.abc import Sequence

from multihead_documents.markup import Markup, Piece, Tag
from multihead_documents.rst.blocks import ENUMERATOR, RULE
from multihead_documents.rst.inline import AFTER, BEFORE, CLOSERS, OPENERS

_SPECIAL = re.compile(r"[\\`|*]|_(?![^\W_])")
_LINE_ENDS = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]+")
_BLOCKS = "-+•‣⁃:/>=.—"
"""Signs that may begin a list, a field, a table, a comment or an attribution."""
_GAP = "\\ "


def spell(target: Markup, kind: str) -> str:
    """Return a translation on one line, such that docutils reads it as it is meant.

    Args:
        target: the translation; the ``raw`` of its tags is written.
        kind: the kind of its block.
    """
    if kind == "raw":
        return _LINE_ENDS.sub(" ", target.collapsed().text)
    result = ""
    last: Piece = ""
    parts: list[str] = []
    for piece in _flat(target):
        if isinstance(piece, str):
            new = _escape(piece, kind)
            if not parts:
                new = _at_start(new)
            if isinstance(last, Tag) and last.kind != "open" and not (new[0].isspace() or new[0] in AFTER):
                new = _GAP + new
        else:
            new = piece.raw
            if isinstance(last, Tag) and piece.kind != "close":
                new = _GAP + new  # nothing between two tags
            elif piece.kind != "close" and parts:
                new = (_GAP if not (result[-1].isspace() or result[-1] in BEFORE) else "") + new
        parts.append(new)
        result = new
        last = piece
    parts = _apart(parts)
    text = "".join(parts)
    return f"{text[:-1]}\\:" if text.endswith("::") else text


def _apart(parts: list[str]) -> list[str]:
    """Divide a tag from the sign before it where that and the sign after it are a pair: ``"*"``."""
    for number in range(1, len(parts) - 1):
        before, after = parts[number - 1][-1:], parts[number + 1][:1]
        if before in BEFORE and parts[number][-1:] in "*`" and _is_pair(before, after):
            parts[number] = _GAP + parts[number]
    return parts


def _is_pair(before: str, after: str) -> bool:
    return before in OPENERS and after == CLOSERS[OPENERS.index(before)]


def _escape(text: str, kind: str) -> str:
    text = _SPECIAL.sub(r"\\\g<0>", _LINE_ENDS.sub(" ", text))
    return re.sub(r"(?<=\s):(?=\s)", r"\\:", text) if kind == "term" else text


def _at_start(text: str) -> str:
    """Escape what would begin a block."""
    if text[0] == "\\":
        return _GAP + text if RULE.match(text) else text
    return f"\\{text}" if text[0] in _BLOCKS or ENUMERATOR.match(text) or RULE.match(text) else text


def _flat(target: Markup) -> list[Piece]:
    """Return pieces without markup inside markup, and with the spaces at its ends outside."""
    pieces: list[Piece] = []
    opened: Tag | None = None
    closed: set[str] = set()
    closers = {tag.id: tag for tag in target.tags if tag.kind == "close"}
    for piece in target.pieces:
        if isinstance(piece, str):
            pieces.append(piece)
            continue
        if piece.kind == "close":
            if piece.id in closed:
                continue
            opened = None
        elif opened:
            pieces.append(closers[opened.id])
            closed.add(opened.id)
            opened = None
        if piece.kind == "open":
            opened = piece
        pieces.append(piece)
    return _fill(Markup.of(*_outside(pieces)).collapsed().strip().pieces)


def _fill(pieces: Sequence[Piece]) -> list[Piece]:
    """Return pieces without markup around nothing, which docutils does not know; a link shows its address."""
    result: list[Piece] = []
    for piece in pieces:
        last = result[-1] if result else ""
        if isinstance(piece, Tag) and isinstance(last, Tag) and (last.kind, piece.kind) == ("open", "close"):
            result.pop()
            if piece.name == "link":
                raw = last.raw + piece.raw.lstrip()
                result.append(Tag(piece.id, "alone", "link", raw))
        else:
            result.append(piece)
    return list(Markup.of(*result).collapsed().strip().pieces)


def _outside(pieces: list[Piece]) -> list[Piece]:
    result: list[Piece] = []
    for piece in pieces:
        last = result[-1] if result else ""
        if isinstance(piece, str) and isinstance(last, Tag) and last.kind == "open":
            bare = piece.lstrip()
            result[-1:] = [piece[: len(piece) - len(bare)], last, bare]
        elif isinstance(piece, Tag) and piece.kind == "close" and isinstance(last, str) and last:
            bare = last.rstrip()
            result[-1:] = [bare, piece, last[len(bare) :]]
        else:
            result.append(piece)
    return result
