"""Which installed fonts can show a text."""

from functools import cache

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

FIRST = "DejaVu Sans"
"""Ships with the plotting library: Latin, Greek, Cyrillic, Hebrew, Arabic, Georgian, Armenian."""

_UNFIT = ("last resort", "color", "emoji", "stix", "cm", "mono", "serif", "symbol")
"""Parts of names of fonts that show boxes, bitmaps or formulas, or look out of place beside the first."""


def families(text: str) -> tuple[list[str], str]:
    """Choose installed font families for a text.

    Returns:
        The families, to be tried in this order for each character; and the characters that none of them
        has, sorted.
    """
    chosen = [FIRST]
    missing = {char for char in text if char.isprintable() and not char.isspace() and not _has(FIRST, char)}
    candidates = iter(_candidates() if missing else ())
    while missing and (name := next(candidates, None)):
        covered = {char for char in missing if _has(name, char)}
        if covered:
            chosen.append(name)
            missing -= covered
    return chosen, "".join(sorted(missing))


@cache
def _candidates() -> tuple[str, ...]:
    """Every other family with an upright face that may stand beside the first, sans-serif ones in front."""
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
