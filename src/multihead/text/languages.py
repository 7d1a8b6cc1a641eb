"""Language codes (BCP 47, ISO 639) in all common spellings, and names of languages."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import langcodes

from multihead.errors import UserError

_NEAR = 7
"""Maximum CLDR distance of a substitute language: Bokmål for Norwegian, not German for Swiss."""

_SHOWN = 40
"""Characters of a wrong code that an error repeats."""


class Language(NamedTuple):
    """A language: its code in canonical form, its name in English and in the language itself."""

    code: str
    name: str
    own_name: str


def canonical(code: str, *, place: str = "language") -> str:
    """Return a language code in canonical form.

    Two letters are preferred to three, and a default script is left out. Unlisted codes are kept,
    since small languages have them.

    >>> [canonical(code) for code in ("EN", "de_de", "ger", "zh-hans", "deu_Latn", "cmn", "nds", "xx")]
    ['en', 'de-DE', 'de', 'zh-Hans', 'de', 'zh', 'nds', 'xx']

    Args:
        code: a code in any case, with hyphens or underscores.
        place: named by an error.

    Raises:
        UserError: the text does not have the form of a code; the remedy for a name is its code.
    """
    try:
        return langcodes.standardize_tag(code.strip(), macro=True)
    except ValueError:
        excerpt = code if len(code) <= _SHOWN else code[:_SHOWN] + "..."
        raise UserError(f'"{excerpt}" is not a language code', place=place, remedy=_remedy(code)) from None


def _remedy(code: str) -> str:
    try:
        return f'Write "{langcodes.find(code.strip())}".'
    except (LookupError, ValueError):  # not a name; not Unicode that the names can be searched for
        return 'Write one such as "de", "zh-Hans" or "nds".'


NAMED_IN = ("en", "de", "fr", "es", "it", "pt", "ru", "ja", "ko", "zh")
"""Languages in which a header may name a language."""


def is_known(code: str) -> bool:
    """Return whether a standard lists all parts of a code."""
    try:
        return langcodes.tag_is_valid(canonical(code))
    except UserError:
        return False


def is_language(text: str) -> bool:
    """Return whether a text is the code or the name of a language, in its own language or a common one.

    >>> is_language("de"), is_language("German"), is_language("한국어"), is_language("Guten Tag")
    (True, True, True, False)
    >>> is_language("Some men standing in front of a building.")
    False
    """
    return bool(language_code(text))


def language_code(text: str) -> str:
    """Return the code of a language that a text names by a code or a name, see ``is_language``; "" if none.

    >>> language_code("German"), language_code("deu"), language_code("Guten Tag")
    ('de', 'de', '')
    """
    if is_known(text):
        return canonical(text)
    try:
        match = langcodes.find(text)  # the nearest name, of any sentence that begins like one
    except (LookupError, ValueError):  # as in _remedy
        return ""
    names = (match.autonym(), *map(match.display_name, NAMED_IN))
    return str(match) if _words(text) in map(_words, names) else ""


def _words(name: str) -> set[str]:
    return set(re.findall(r"\w+", name.casefold()))


def primary(code: str) -> str:
    """Return the language of a code without script and country; "" if it is not a code.

    >>> primary("zh-Hans-CN"), primary("KOR"), primary("")
    ('zh', 'ko', '')
    """
    try:
        return canonical(code).split("-")[0]
    except UserError:
        return ""


def language(code: str) -> Language:
    """Return a language with its names; its code stands in for unknown names.

    >>> language("zh-hant")
    Language(code='zh-Hant', name='Chinese (Traditional)', own_name='中文（繁體）')

    Raises:
        UserError: the text does not have the form of a code.
    """
    code = canonical(code)
    entry = langcodes.Language.get(code)
    name = entry.language_name()
    if name.startswith("Unknown language"):
        return Language(code, code, code)
    own_name = entry.autonym()
    if name != entry.autonym() and name in own_name:  # without a name for this country: the script's
        full = entry.maximize()
        own_name = langcodes.Language.make(language=full.language, script=full.script).autonym()
    return Language(code, entry.display_name(), own_name)


def closest(code: str, offered: Iterable[str]) -> str | None:
    """Return the offered code that best serves for the requested one, or None.

    >>> closest("de-AT", ["en", "de"]), closest("zh-TW", ["zh-Hans", "zh-Hant"]), closest("nds", ["de"])
    ('de', 'zh-Hant', None)

    Raises:
        UserError: the requested or an offered text does not have the form of a code.
    """
    target = canonical(code)
    names = {canonical(offer): offer for offer in offered}
    if target in names:
        return names[target]
    best, distance = langcodes.closest_match(target, list(names), max_distance=_NEAR)
    if distance <= _NEAR and best in names:
        return names[best]
    return names.get(primary(target))
