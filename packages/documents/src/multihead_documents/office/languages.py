"""Languages that office documents name for their spelling checkers, in Office Open XML and OpenDocument."""

import re
from functools import partial

from multihead_documents.document import languages_match
from multihead_documents.writing import is_east_asian, is_right_to_left, with_region

PARTS = re.compile(r"(?:\A|/)(?:styles|settings|presentation|content|meta|core)\.xml\Z")
"""Parts that name languages beside those with text."""
_WORD = re.compile(rb"<(?:\w+:)?(?:lang|themeFontLang)\s[^<>]*>")
_DRAWING = re.compile(rb"<(?:\w+:)?(?:rPr|endParaRPr|defRPr)\s[^<>]*>")
_OPEN = re.compile(rb"<(?:\w+:)?text-properties\s[^<>]*>")
_METADATA = re.compile(rb"(?<=[:<]language>)[A-Za-z0-9-]{2,35}(?=</)")
_ATTRIBUTE = re.compile(rb"(\s(?:\w+:)?)(val|eastAsia|bidi|lang)=([\"'])([A-Za-z0-9-]{2,35})\3")
_OPEN_NAMES = rb"(\s\w+:)(%s)(-asian|-complex|)=([\"'])([A-Za-z0-9-]*)\4"
_OPEN_LANGUAGE = re.compile(_OPEN_NAMES % b"language")
_OPEN_COUNTRY = re.compile(_OPEN_NAMES % b"country")


def replace_language(part: bytes, source: str, target: str) -> bytes:
    """Return a part whose texts are in another language.

    Where it names the source language the target is written, with its usual region, as spelling checkers need
    it. Where it has a language for Asian scripts, or for those from right to left, and the target is such a
    language, it is written there too.

    Args:
        part: XML in an encoding that holds ASCII.
        source: code of the language that was translated.
        target: code of the language of the translations.
    """
    for element, rename in ((_WORD, _office), (_DRAWING, _office), (_OPEN, _open_document)):
        part = element.sub(partial(rename, source=source, target=target), part)
    return _METADATA.sub(partial(_metadata, source=source, target=target), part)


def _office(element: re.Match[bytes], *, source: str, target: str) -> bytes:
    def attribute(found: re.Match[bytes]) -> bytes:
        space, name, quote, code = found.groups()
        if not (languages_match(source, code.decode()) or _serves(name, target)):
            return found[0]
        return space + name + b"=" + quote + with_region(target).encode() + quote

    return _ATTRIBUTE.sub(attribute, element[0])


def _open_document(element: re.Match[bytes], *, source: str, target: str) -> bytes:
    """Rename the languages of a style, each of which has its country in another attribute."""
    language, _, country = with_region(target).partition("-")
    changed = {
        suffix
        for _, _, suffix, _, code in _OPEN_LANGUAGE.findall(element[0])
        if languages_match(source, code.decode()) or _serves(suffix[1:], target)
    }

    def attribute(value: str, found: re.Match[bytes]) -> bytes:
        space, name, suffix, quote, _ = found.groups()
        if suffix not in changed:
            return found[0]
        return space + name + suffix + b"=" + quote + value.encode() + quote

    style = _OPEN_LANGUAGE.sub(partial(attribute, language), element[0])
    return _OPEN_COUNTRY.sub(partial(attribute, country.rpartition("-")[2] or "none"), style)


def _serves(name: bytes, target: str) -> bool:
    """Return True if an attribute is for the script of the target."""
    if name in (b"eastAsia", b"asian"):
        return is_east_asian(target)
    return name in (b"bidi", b"complex") and is_right_to_left(target)


def _metadata(found: re.Match[bytes], *, source: str, target: str) -> bytes:
    return target.encode() if languages_match(source, found[0].decode()) else found[0]
