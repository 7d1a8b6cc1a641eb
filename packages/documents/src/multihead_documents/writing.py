"""Direction and script in which a language is written, and the region that goes without saying."""

import langcodes

_RIGHT_TO_LEFT = frozenset(("Adlm", "Arab", "Hebr", "Mand", "Nkoo", "Rohg", "Samr", "Syrc", "Thaa"))
"""Scripts by their codes of ISO 15924."""
_EAST_ASIAN = frozenset(("zh", "ja", "ko", "yue", "wuu"))


def is_right_to_left(language: str) -> bool:
    """Return whether a language is written from right to left: Arabic, Hebrew, Persian, Urdu and others."""
    try:
        return langcodes.get(language).maximize().script in _RIGHT_TO_LEFT
    except ValueError:  # a code of one's own
        return False


def is_east_asian(language: str) -> bool:
    """Return whether office documents count a language among those of Chinese, Japanese and Korean script."""
    try:
        return langcodes.get(language).language in _EAST_ASIAN
    except ValueError:
        return False


def with_region(language: str) -> str:
    """Return a code with the region where most of a language's speakers live: "de-DE" for "de"."""
    try:
        code = langcodes.get(language)
        if code.territory or not code.language or not langcodes.tag_is_valid(language):
            return language
        likely = code.maximize().territory
    except ValueError:
        return language
    if not likely or not likely.isalpha():
        return language
    # The script of Chinese follows from the region.
    return f"{code.language if code.language == 'zh' else language}-{likely}"
