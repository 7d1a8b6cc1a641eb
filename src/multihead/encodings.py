"""Guess at the encoding of bytes that are not in the expected one, for a person to judge."""

import unicodedata
from itertools import pairwise

from multihead.scripts import script

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
"""Bytes before and after the one in question that are judged, to the next space."""
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
    begin = raw.rfind(b" ", 0, max(0, offset - WINDOW)) + 1
    end = raw.find(b" ", offset + WINDOW)
    raw, offset = raw[begin : end if end >= 0 else offset + WINDOW], offset - begin
    readings = {name: text for name in CANDIDATES if (text := _decoded(raw, name)) is not None}
    if not readings:
        return ""
    name = min(readings, key=lambda name: _strangeness(readings[name], CANDIDATES[name]))
    start = len(raw[:offset].decode(name, "ignore"))
    shown = readings[name][max(0, start - CONTEXT) : start + CONTEXT].strip()
    return f' ({name}, if "{shown}" is right)'


def _decoded(raw: bytes, encoding: str) -> str | None:
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if any(unicodedata.category(c)[0] == "C" and c != "\t" for c in text) else text


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
