"""Guess the encoding of undecodable bytes, for a person to judge."""

import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from multihead.text.scripts import script

CANDIDATES = {
    "utf-8": "utf-8",
    "cp949": "euc-kr",
    "shift_jis": "shift_jis",
    "gb18030": "gb2312",
    "big5": "big5",
    "cp1252": "cp1252",
    "cp1251": "cp1251",
    "cp1253": "cp1253",
    "cp1250": "cp1250",
}
"""Encodings in order of preference, each with an encoding of its common characters."""
WINDOW = 2000
"""Bytes judged before and after the undecodable one."""
LONGEST = 4
"""Bytes of the longest character."""
CONTEXT = 24
"""Characters shown before the undecodable one, and from it on."""


def likely(raw: bytes, offset: int) -> str:
    """Return the most probable encoding of a line and how it then reads, in brackets, or "" if it has none.

    >>> likely("Ein schöner Tag".encode("latin-1"), 7)
    ' (cp1252, if "Ein schöner Tag" is right)'

    Args:
        raw: the line.
        offset: place of the first undecodable byte.
    """
    begin, end = max(0, offset - WINDOW), offset + WINDOW
    cut = begin > 0, end < len(raw)
    raw, offset = raw[begin:end], offset - begin
    readings = [(name, reading) for name in CANDIDATES for reading in _decode(raw, name, *cut)]
    if not readings:
        return ""
    name, (text, skipped) = min(readings, key=lambda pair: _strangeness(pair[1].text, CANDIDATES[pair[0]]))
    start = len(raw[skipped:offset].decode(name, "ignore"))
    excerpt = text[max(0, start - CONTEXT) : start + CONTEXT].strip()
    return f' ({name}, if "{excerpt}" is right)'


class _Reading(NamedTuple):
    """Decoded text, and the number of leading bytes skipped as part of a cut character."""

    text: str
    skipped: int


def _decode(raw: bytes, encoding: str, cut_begin: bool, cut_end: bool) -> Iterator[_Reading]:
    """Yield the readings in an encoding; several if a character may be cut."""
    for skipped in range(LONGEST if cut_begin else 1):
        for left in range(LONGEST if cut_end else 1):
            try:
                text = raw[skipped : len(raw) - left].decode(encoding)
            except UnicodeDecodeError:
                continue
            if not any(unicodedata.category(c)[0] == "C" and c != "\t" for c in text):
                yield _Reading(text, skipped)
                break


def _strangeness(text: str, usual: str) -> int:
    """Count oddities of a text: rare characters, symbols inside words, unusual pairs of letters."""
    rare = sum(
        not c.encode(usual, "ignore") or (script(c) == "KANA" and unicodedata.east_asian_width(c) == "H")
        for c in text
    )
    symbols = sum(
        left.isalpha() and right.isalpha() and _seldom_within(middle)
        for left, middle, right in zip(text, text[1:], text[2:], strict=False)
    )
    return rare + symbols + sum(_strange_pair(left, right) for left, right in pairwise(text))


def _seldom_within(symbol: str) -> bool:
    return not symbol.isascii() and symbol != "·" and unicodedata.category(symbol) in ("No", "So", "Sc", "Po")


def _strange_pair(left: str, right: str) -> bool:
    """Return whether two letters seldom meet: of two scripts, both accented, a capital after a small one."""
    if not (left.isalpha() and right.isalpha()):
        return False
    scripts = script(left), script(right)
    if "\xc0" <= left <= "\xff" and "\xc0" <= right <= "\xff":
        return True
    if left.islower() and right.isupper():
        return True
    return scripts[0] != scripts[1] and not set(scripts) <= {"CJK", "KANA"} and scripts != ("LATIN", "HANGUL")
