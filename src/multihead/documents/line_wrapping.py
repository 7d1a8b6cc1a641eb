"""Lines of subtitles: joined for translation, wrapped again into few, balanced lines."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_UNSPACED = (
    "\u3005-\u3007\u3021-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff10-\uff5a\U00020000-\U0003ffff"
)
"""Chinese and Japanese, which put no space between words (Korean does)."""
_ENDS = re.compile(f"[{_UNSPACED}、。，．！？：；…」』）】]")
_BEGINS = re.compile(f"[{_UNSPACED}「『（【]")
DASHES = "-‐–—"
"""No line of ours begins with one: it would seem another speaker's."""
_PART = re.compile(r"\s+|\S")
Spelled = tuple[str, bool]
"""Text of a subtitle, and whether it is shown; tags are not."""


def width(text: str) -> int:
    """Return the columns of a text: East Asian wide characters take two, combining ones none.

    >>> width("Tag"), width("서울")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    wide = (unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return sum(0 if unicodedata.combining(letter) else 1 + w for letter, w in zip(text, wide, strict=True))


def joint(left: str, right: str) -> str:
    """Return what joins two lines: nothing between Chinese or Japanese characters, else a space.

    >>> joint("Guten", "Tag"), joint("東京", "都")
    (' ', '')
    """
    return "" if left and right and _ENDS.match(left[-1]) and _BEGINS.match(right[0]) else " "


@dataclass
class _Word:
    """A part that stays on one line: its spelling with tags, its columns, its joint with the next."""

    spelling: str = ""
    columns: int = 0
    joint: str = " "


def wrapped(pieces: Sequence[Spelled], limit: int, newline: str, escape: Callable[[str], str]) -> str:
    """Return the text in as few lines as fit ``limit`` columns, and these of about equal length.

    A word that is wider has a line of its own. Wrapping is undone by :func:`joint`.
    """
    words = list(_words(pieces, escape))
    fewest = len(_lines(words, limit))
    low, high = 1, limit
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if len(_lines(words, middle)) > fewest else (low, middle)
    return newline.join("".join(line) for line in _lines(words, high))


def _lines(words: Sequence[_Word], limit: int) -> list[list[str]]:
    """Fill one line after the other."""
    lines: list[list[str]] = []
    used, before = 0, ""
    for word in words:
        if lines and used + len(before) + word.columns <= limit:
            lines[-1] += [before, word.spelling]
            used += len(before) + word.columns
        else:
            lines.append([word.spelling])
            used = word.columns
        before = word.joint
    return lines


def _words(pieces: Sequence[Spelled], escape: Callable[[str], str]) -> Iterator[_Word]:
    """Yield the parts between which a line may end."""
    word = _Word()
    last = held = ""
    spaced = False
    for piece, shown in pieces:
        if not shown:
            if spaced:
                held += piece  # on this line or the next: decided by the letter after it
            else:
                word.spelling += piece
            continue
        for part in _PART.findall(piece):
            if part.isspace():
                spaced = bool(last)
                continue
            if spaced and (part in DASHES or joint(last, part) == ""):
                word.spelling += f" {held}"
                word.columns += 1
            elif spaced or (last and joint(last, part) == ""):
                word.joint = " " if spaced else ""
                yield word
                word = _Word(held)
            word.spelling += escape(part)
            word.columns += width(part)
            last, held, spaced = part, "", False
    word.spelling += held
    yield word
