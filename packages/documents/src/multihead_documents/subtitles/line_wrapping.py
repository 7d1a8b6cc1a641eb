"""Line wrapping of subtitles: as few lines as fit, balanced in length."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_UNSPACED = (
    "\u3005-\u3007\u3021-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff10-\uff5a\U00020000-\U0003ffff"
)
"""Characters of Chinese and Japanese, which are written without spaces (Korean is not)."""
_ENDS = re.compile(f"[{_UNSPACED}、。，．！？：；…」』）】]")
_BEGINS = re.compile(f"[{_UNSPACED}「『（【]")
DASHES = "-‐–—"
"""Wrapping never starts a line with a dash, which would mark another speaker."""
_PART = re.compile(r"[\t\n\f\r ]+|[^\t\n\f\r ]")
"""A letter or breaking white space; a no-break space is a letter."""
Fragment = tuple[str, bool]
"""Text, and whether it is visible; tags are not."""


def width(text: str) -> int:
    """Return the width of a text in columns: wide East Asian characters take two, combining ones none.

    >>> width("Tag"), width("서울")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    wide = (unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return sum(0 if unicodedata.combining(letter) else 1 + w for letter, w in zip(text, wide, strict=True))


def columns(text: str) -> int:
    """Return the columns of a text as docutils and gettext count them: two for wide letters, else one."""
    if text.isascii():
        return len(text)
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def separator(left: str, right: str) -> str:
    """Return the separator of two joined lines: none between Chinese or Japanese characters, else a space.

    >>> separator("Guten", "Tag"), separator("東京", "都")
    (' ', '')
    """
    return "" if left and right and _ENDS.match(left[-1]) and _BEGINS.match(right[0]) else " "


@dataclass
class _Word:
    """An unbreakable unit: its text with tags, its width, the separator to the next one."""

    text: str = ""
    columns: int = 0
    separator: str = " "


def wrap(pieces: Sequence[Fragment], limit: int, newline: str, escape: Callable[[str], str]) -> str:
    """Wrap a text into the fewest lines of at most ``limit`` columns, balanced in length.

    A wider word gets its own line. Joining the lines by :func:`separator` gives the text back.
    """
    words = list(_words(pieces, escape))
    fewest = len(_lines(words, limit))
    low, high = 1, limit
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if len(_lines(words, middle)) > fewest else (low, middle)
    return newline.join("".join(line) for line in _lines(words, high))


def _lines(words: Sequence[_Word], limit: int) -> list[list[str]]:
    """Fill lines greedily."""
    lines: list[list[str]] = []
    used, before = 0, ""
    for word in words:
        if lines and used + len(before) + word.columns <= limit:
            lines[-1] += [before, word.text]
            used += len(before) + word.columns
        else:
            lines.append([word.text])
            used = word.columns
        before = word.separator
    return lines


def _words(pieces: Sequence[Fragment], escape: Callable[[str], str]) -> Iterator[_Word]:
    """Yield the unbreakable units."""
    word = _Word()
    last = held = ""
    spaced = False
    for piece, visible in pieces:
        if not visible:
            if spaced:
                held += piece  # on this line or the next: decided by the letter after it
            else:
                word.text += piece
            continue
        for part in _PART.findall(piece):
            if part[0] in "\t\n\f\r ":
                spaced = bool(last)
                continue
            if spaced and (part in DASHES or separator(last, part) == ""):
                word.text += f" {held}"
                word.columns += 1
            elif spaced or (last and separator(last, part) == ""):
                word.separator = " " if spaced else ""
                yield word
                word = _Word(held)
            word.text += escape(part)
            word.columns += width(part)
            last, held, spaced = part, "", False
    word.text += held
    yield word
