r"""Characters of LaTeX: escapes, accents, dashes and quotes, decoded and escaped.

>>> [decode(spelling) for spelling in (r"\%", r"\'{e}", r"\ss{}", "---", "``", "~")]
['%', 'é', 'ß', '—', '“', '\xa0']
>>> escape("50 % von a_b -- „x“")
'50 \\% von a\\_b -{}- „x``'
"""

import codecs
import re
import unicodedata

_ACCENTS = {
    '"': "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "c": "\u0327",
    "v": "\u030c",
    "u": "\u0306",
    "H": "\u030b",
    "k": "\u0328",
    "r": "\u030a",
    "d": "\u0323",
    "b": "\u0331",
}
"""Combining character of each accent."""

_SYMBOLS = {
    **{"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å"},
    **{"l": "ł", "L": "Ł", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ"},
    **{"dots": "…", "ldots": "…", "textellipsis": "…", "textendash": "–", "textemdash": "—"},
    **{"S": "§", "P": "¶", "copyright": "©", "pounds": "£", "texteuro": "€", "euro": "€"},
    **{"textdegree": "°", "textregistered": "®", "texttrademark": "™", "textbullet": "•"},
    **{"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textasciigrave": "`"},
    **{"textless": "<", "textgreater": ">", "textbar": "|", "textquotedbl": '"', "dq": '"'},
    **{"textquotesingle": "'", "textquoteleft": "‘", "textquotedblleft": "“", "textquotedblright": "”"},
    **{"textunderscore": "_", "textdollar": "$", "textbraceleft": "{", "textbraceright": "}"},
    **{"lq": "‘", "rq": "'", "glqq": "„", "grqq": "“", "flqq": "«", "frqq": "»", "glq": "‚", "grq": "‘"},
    **{"guillemotleft": "«", "guillemotright": "»", "quotedblbase": "„", "quotesinglbase": "‚"},
    **{"thinspace": "\u2009", "textvisiblespace": "␣", "space": " ", "relax": "", "xspace": ""},
}
_LIGATURES = {
    **{"---": "—", "--": "–", "``": "“", "''": "”", "`": "‘", ",,": "„", "<<": "«", ">>": "»", "?`": "¿"},
    **{"!`": "¡", "~": "\u00a0", "{}": "", "{[}": "[", "{]}": "]", "{*}": "*"},
    **{"\\,": "\u202f", "\\ ": " ", "\\\n": " ", "\\\r\n": " ", "\\symbol{34}": '"'},
    **dict.fromkeys(("\\-", "\\/", "\\@"), ""),
    **{f"\\{sign}": sign for sign in "%&_#${}"},
}
_SHORTHANDS = {'"`': "„", "\"'": "“", '"<': "«", '">': "»", '"-': "", '"=': "-", '"~': "\u2011", '""': ""}
"""Shorthands of babel's German, beside ``"a`` for ä."""

CHARACTER = (
    r"---?|``?|''|,,|<<|>>|[?!]`|~|\{[\[\]*]?\}|\\[,\-/@ %&_#${}]|\\\r?\n(?![ \t]*\r?\n)|\\symbol\{34\}"
    r"|\\[\"'`^~=.][ \t]*(?:\{(?:\\[ij]|[A-Za-z])\}|\\[ij](?![A-Za-z])|[A-Za-z])"
    r"|\\[cvuHkrdb](?:\{(?:\\[ij]|[A-Za-z])\}|[ \t]+[A-Za-z])"
    rf"|\\(?:{'|'.join(sorted(_SYMBOLS, key=len, reverse=True))})(?![A-Za-z])(?:\{{\}}|[ \t]+)?"
)
"""Spelling of a character, as a pattern."""
SHORTHAND = r"\"(?:[aeiouAEIOUsSzZ]|[`'<>=~\"-])"
"""Spelling of a character in German, if babel is loaded."""

_ACCENTED = re.compile(r"\\(.)[ \t]*\{?\\?([A-Za-z])\}?\Z")
_WORD = re.compile(r"\\([A-Za-z]+)")
_SIGN = r"[-–—]{2,}|['”]{2,}|[?!]?[‘“]{2,}|[?!][‘“]|,{2,}|[\\{}$&#%_^~`<>|—–“”‘\u00a0\u202f\u2009…]"
_SPECIAL = re.compile(_SIGN)
_IN_BRACKETS = re.compile(rf"{_SIGN}|[\[\]]")
_ESCAPES = {
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
    **{"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"},
    **{"`": r"\textasciigrave{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
    **{"—": "---", "–": "--", "“": "``", "”": "''", "‘": "`", "…": r"\ldots{}"},
    **{"\u00a0": "~", "\u202f": "\\,", "\u2009": r"\thinspace{}", "[": "{[}", "]": "{]}"},
}
_AT_START = re.compile(r"\A(\s*)([\[*])")


def decode(spelling: str) -> str:
    """Return the character of a spelling that ``CHARACTER`` or ``SHORTHAND`` matches."""
    if spelling in _LIGATURES:
        return _LIGATURES[spelling]
    if spelling.startswith('"'):
        shorthand = _SHORTHANDS.get(spelling)
        if shorthand is not None:
            return shorthand
        return "ß" if spelling[1] in "sSzZ" else unicodedata.normalize("NFC", f"{spelling[1]}\u0308")
    word = _WORD.match(spelling)
    if word and word[1] in _SYMBOLS:
        return _SYMBOLS[word[1]]
    accented = _ACCENTED.match(spelling)
    assert accented
    return unicodedata.normalize("NFC", accented[2] + _ACCENTS[accented[1]])


def escape(text: str, *, has_shorthands: bool = False, in_brackets: bool = False) -> str:
    """Escape a text so that LaTeX prints it.

    Args:
        text: the text, up to the next tag.
        has_shorthands: whether babel may take a straight quote for the beginning of a shorthand.
        in_brackets: whether it stands in an optional argument, which its first bracket would close.
    """
    head = _AT_START.match(text)
    begin = f"{head[1]}{{{head[2]}}}" if head else ""
    pattern = _IN_BRACKETS if in_brackets else _SPECIAL
    # Empty groups keep signs from becoming a dash or a quote together.
    text = pattern.sub(
        lambda found: "{}".join(_ESCAPES.get(sign, sign) for sign in found[0]),
        text[head.end() if head else 0 :],
    )
    return begin + (text.replace('"', r"\symbol{34}") if has_shorthands else text)


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Return an accent or symbol command for a character that the file's encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    base, *marks = list(unicodedata.normalize("NFD", letter))
    accent = next((name for name, mark in _ACCENTS.items() if marks == [mark]), None)
    if accent and base.isascii() and base.isalpha():
        return f"\\{accent}{{{base}}}", error.start + 1
    symbol = next((name for name, value in _SYMBOLS.items() if value == letter), None)
    if symbol is None:
        raise error
    return f"\\{symbol}{{}}", error.start + 1


SPELL = "multihead_documents.latex"
"""Error handler of ``str.encode``: accents and symbols as commands."""
codecs.register_error(SPELL, _spell)
