"""Names of languages in LaTeX's babel and polyglossia; a translation's take the place of its source's."""

import re
from collections.abc import Iterator, Mapping
from functools import partial

import langcodes

from multihead_documents.splice import Edit, Span

_NAMES = {
    "bg": "bulgarian",
    "ca": "catalan",
    "cs": "czech",
    "cy": "welsh",
    "da": "danish",
    "de": "ngerman german naustrian austrian nswissgerman swissgerman",
    "el": "greek",
    "en": "english american british USenglish UKenglish",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french francais",
    "ga": "irish",
    "gl": "galician",
    "hr": "croatian",
    "hu": "magyar hungarian",
    "id": "indonesian bahasai",
    "is": "icelandic",
    "it": "italian",
    "lt": "lithuanian",
    "lv": "latvian",
    "ms": "malay bahasam",
    "nb": "norsk",
    "nl": "dutch",
    "nn": "nynorsk",
    "pl": "polish",
    "pt": "portuguese brazilian brazil portuges",
    "ro": "romanian",
    "ru": "russian",
    "sk": "slovak",
    "sl": "slovene slovenian",
    "sq": "albanian",
    "sr": "serbian",
    "sv": "swedish",
    "tr": "turkish",
    "uk": "ukrainian",
    "vi": "vietnamese",
}
"""Names of a language, the one to write first. Others need packages of their own, and fonts."""
_OPTIONS = re.compile(
    r"\\(?:usepackage|RequirePackage)[ \t]*\[(?P<babel>[^\[\]{}%]{1,300})\][ \t]*\{babel\}"
    r"|\\document(?:class|style)[ \t]*\[(?P<class>[^\[\]{}%]{1,300})\]"
    r"|\\(?:selectlanguage|setmainlanguage|setdefaultlanguage)[ \t]*\{(?P<name>[A-Za-z]{1,30})\}"
)
_OPTION = re.compile(r"[A-Za-z]+")


def rename(text: str, source: str | None, target: str | None) -> Iterator[Edit[str]]:
    """Yield edits that name the target language where a file names the source's.

    Where both are loaded they change places: the last option is the main language.

    >>> [edit.parts for edit in rename(r"\\usepackage[english,ngerman]{babel}", "de", "en")]
    [['ngerman,english']]
    """
    old, new = _names(source), _names(target)
    if not old or not new or set(old) & set(new):
        return
    for match in _OPTIONS.finditer(text):
        span = Span(*match.span(match.lastgroup or 0))
        options = text[span.start : span.end]
        names = _OPTION.findall(options)
        was = next((name for name in names if name in old), None)
        if was:
            now = next((name for name in names if name in new), new[0])
            places = {**dict.fromkeys(old, now), **dict.fromkeys(new, was)}
            yield Edit(span, [_OPTION.sub(partial(_place, places), options)])


def _place(places: Mapping[str, str], name: re.Match[str]) -> str:
    return places.get(name[0], name[0])


def _names(language: str | None) -> list[str]:
    if not language:
        return []
    try:
        return _NAMES.get(langcodes.get(language).language or "", "").split()
    except ValueError:  # a code of one's own
        return []
