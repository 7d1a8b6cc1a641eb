"""Plural categories of languages, as Unicode's CLDR names them: one, few, many, other."""

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
_SETS = {code: tuple(names.split()) for names, codes in _LANGUAGES.items() for code in codes.split()}


def plural_categories(language: str) -> tuple[str, ...]:
    """Return the plural categories of whole numbers in a language.

    >>> plural_categories("pl-PL")
    ('one', 'few', 'many', 'other')
    """
    try:
        code = langcodes.get(language).language or ""
    except ValueError:
        code = ""
    return _SETS.get(code, ("one", "other"))
