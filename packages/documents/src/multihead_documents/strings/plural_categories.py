"""Plural categories of languages, as Unicode's CLDR names them: one, few, many, other."""

import re
from collections.abc import Mapping

import langcodes

CATEGORIES = ("zero", "one", "two", "few", "many", "other")

_LANGUAGES = {
    "other": "bo dz id ig ii ja jv kea km ko lo ms my sah sg su th to tpi vi wo yo yue zh",
    "zero one other": "lv ksh lag prg",
    "one two other": "he iu iw naq sat se",
    "one few other": "bs cs hr lt mo ro sh sk sr",
    "one two few other": "br dsb gd gv hsb sl",
    "one few many other": "be pl ru uk",
    "one two few many other": "ga mt",
    "zero one two few many other": "ar ars cy kw",
}
"""Languages of each set of categories; others have one and other.

Some also have one for millions or for fractions, which falls back to other.
"""
_ONE_OF_MANY = "be br bs dsb fil gd gv hr hsb is lt lv mk ru sh sl sr uk"
"""Languages whose ``one`` also counts other numbers than 0 and 1, such as 21."""
_PLACEHOLDER = re.compile(r"%[^\s%]|\{")
_SETS = {code: tuple(names.split()) for names, codes in _LANGUAGES.items() for code in codes.split()}


def plural_categories(language: str) -> tuple[str, ...]:
    """Return the plural categories of whole numbers in a language.

    >>> plural_categories("pl-PL")
    ('one', 'few', 'many', 'other')
    """
    return _SETS.get(_code(language), ("one", "other"))


def source_category(wanted: str, texts: Mapping[str, str], language: str | None) -> str:
    """Return the category of the text that a plural form is translated from.

    It is the same, but ``other`` where there is none, or where a text for 1 that does not say the number
    ("a file") would be translated to a form for 21.

    Args:
        wanted: the category in the target language.
        texts: the source's texts by category.
        language: the target language, None if it is not known.
    """
    if wanted not in texts:
        return "other" if "other" in texts else list(texts)[-1]
    counts = [len(_PLACEHOLDER.findall(texts.get(name, ""))) for name in (wanted, "other")]
    if wanted == "one" and counts[0] < counts[1] and language and _code(language) in _ONE_OF_MANY.split():
        return "other"
    return wanted


def _code(language: str) -> str:
    try:
        return langcodes.get(language).language or ""
    except ValueError:
        return ""
