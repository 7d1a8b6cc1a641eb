"""Guess at the encoding of bytes that are not in the expected one, for a person to judge."""

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
"""Encodings in the order of preference, each with one that has the usual among its characters."""
WINDOW = 2000
"""Bytes before and after the one in question that are judged, and at most as many more."""
ALONE = 0x30
"""Bytes below this one are characters in all of these encodings, never parts of one."""
LONGEST = 4
"""Bytes of the longest character."""
CONTEXT = 24
"""Characters that are shown before the one in question, and from it."""


def likely(raw: bytes, offset: int) -> str:
    """Return the most probable encoding of a line and how it then reads, in brackets, or "" if it has none.

    >>> likely("Ein schöner Tag".encode("latin-1"), 7)
    ' (cp1252, if "Ein schöner Tag" is right)'

    Args:
        raw: the line.
        offset: where the first byte is that did not decode.
    """
    begin, end = _begin(raw, offset), _end(raw, offset)
    cut = begin > 0 and raw[begin - 1] >= ALONE, end < len(raw) and raw[end] >= ALONE
    raw, offset = raw[begin:end], offset - begin
    readings = [(name, found) for name in CANDIDATES for found in _decode(raw, name, *cut)]
    if not readings:
        return ""
    name, (text, skipped) = min(readings, key=lambda one: _strangeness(one[1].text, CANDIDATES[one[0]]))
    start = len(raw[skipped:offset].decode(name, "ignore"))
    shown = text[max(0, start - CONTEXT) : start + CONTEXT].strip()
    return f' ({name}, if "{shown}" is right)'


def _begin(raw: bytes, offset: int) -> int:
    """Return where the surroundings begin: behind a byte that is a character, if one is near."""
    last = max(0, offset - WINDOW)
    first = max(0, last - WINDOW)
    near = max(raw.rfind(bytes([byte]), first, last) for byte in range(ALONE))
    return near + 1 if near >= 0 or first == 0 else last


def _end(raw: bytes, offset: int) -> int:
    """Return where the surroundings end: before a byte that is a character, if one is near."""
    first = min(len(raw), offset + WINDOW)
    found = [at for byte in range(ALONE) if (at := raw.find(bytes([byte]), first, first + WINDOW)) >= 0]
    if found:
        return min(found)
    return len(raw) if first + WINDOW >= len(raw) else first


class _Reading(NamedTuple):
    """Bytes as text, and how many at their beginning belong to a character that was cut."""

    text: str
    skipped: int


def _decode(raw: bytes, encoding: str, cut_begin: bool, cut_end: bool) -> Iterator[_Reading]:
    """Yield the readings in an encoding: where a character may be cut, there are several."""
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
    """Count what texts seldom have: rare characters, symbols in words, letters that do not go together."""
    rare = sum(
        not _encodable(c, usual) or (script(c) == "KANA" and unicodedata.east_asian_width(c) == "H")
        for c in text
    )
    symbols = sum(
        one.isalpha() and other.isalpha() and _seldom_within(middle)
        for one, middle, other in zip(text, text[1:], text[2:], strict=False)
    )
    return rare + symbols + sum(_strange_pair(one, other) for one, other in pairwise(text))


def _seldom_within(symbol: str) -> bool:
    return not symbol.isascii() and symbol != "·" and unicodedata.category(symbol) in ("No", "So", "Sc", "Po")


def _strange_pair(one: str, other: str) -> bool:
    """Return whether two letters seldom meet: of two scripts, both accented, a capital after a small one."""
    if not (one.isalpha() and other.isalpha()):
        return False
    scripts = script(one), script(other)
    if "\xc0" <= one <= "\xff" and "\xc0" <= other <= "\xff":
        return True
    if one.islower() and other.isupper():
        return True
    return scripts[0] != scripts[1] and not set(scripts) <= {"CJK", "KANA"} and scripts != ("LATIN", "HANGUL")


def _encodable(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
