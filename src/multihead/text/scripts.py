"""The script of a letter, from its Unicode name."""

import unicodedata
from functools import cache

_JAPANESE = ("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA")


@cache
def script(letter: str) -> str:
    """Return the script of a letter: "LATIN", "CYRILLIC", "HANGUL"; both Japanese syllabaries are "KANA".

    >>> script("a"), script("ß"), script("한"), script("字")
    ('LATIN', 'LATIN', 'HANGUL', 'CJK')
    """
    name = unicodedata.name(letter, "UNKNOWN")
    if name.startswith(_JAPANESE):
        return "KANA"
    name = name.removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    return name.partition(" ")[0]
