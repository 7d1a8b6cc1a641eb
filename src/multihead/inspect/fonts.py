"""Choice of installed fonts that cover the characters of a text."""

from functools import cache

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

FIRST = "DejaVu Sans"
"""Shipped with Matplotlib; covers Latin, Greek, Cyrillic, Hebrew, Arabic, Georgian and Armenian."""

_UNFIT = ("last resort", "color", "emoji", "stix", "cm", "mono", "serif", "symbol")
"""Name parts of fonts that draw boxes, bitmaps or formulas, or clash with the first font."""


def families(text: str) -> tuple[list[str], str]:
    """Choose installed font families that cover a text.

    Returns:
        The families in the order to try for each character, and the characters that no family covers,
        sorted.
    """
    fonts = [FIRST]
    missing = {char for char in text if char.isprintable() and not char.isspace() and not _has(FIRST, char)}
    candidates = iter(_candidates() if missing else ())
    while missing and (name := next(candidates, None)):
        covered = {char for char in missing if _has(name, char)}
        if covered:
            fonts.append(name)
            missing -= covered
    return fonts, "".join(sorted(missing))


@cache
def _candidates() -> tuple[str, ...]:
    """Return every other usable family with an upright regular face, sans-serif families first."""
    names = {
        entry.name
        for entry in font_manager.fontManager.ttflist
        if (entry.style, entry.weight, entry.stretch) == ("normal", 400, "normal")
        and not any(part in entry.name.lower() for part in _UNFIT)
    }
    names.discard(FIRST)
    return tuple(sorted(names, key=lambda name: ("sans" not in name.lower(), name)))


def _has(family: str, char: str) -> bool:
    font = _font(family)
    return font is not None and font.get_char_index(ord(char)) != 0


@cache
def _font(family: str) -> FT2Font | None:
    try:
        return font_manager.get_font(font_manager.findfont(family, fallback_to_default=False))
    except (ValueError, RuntimeError, OSError):
        return None
