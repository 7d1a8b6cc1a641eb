"""Decides whether a sentence ends at a terminator, by the text before and after it."""

from dataclasses import dataclass

import regex

from multihead.text.abbreviations import NEVER, NUMBERED, OFTEN, ORDINALS, REPORTING, SELDOM, STARTERS

NEAR = 40
"""Characters before and after a candidate that the rules read."""

_CONTINUED = regex.compile(r"[,;:)\]}、，；：]")
"""Characters that continue a sentence."""
_NEXT = regex.compile(r"[\p{Ps}\p{Pi}\"'„‚»¿¡*_–—-]*+\s*+(?P<word>[\p{L}\p{M}\p{N}]++)(?P<period>\.?)")
_BRAND = regex.compile(r"\p{Ll}{1,2}\p{Lu}")
_WORD = regex.compile(r"(?<![^\s\p{Ps}\p{Pi}\"'„‚»¿¡*_\p{Hangul}\p{Han}])[\p{L}\p{M}\p{N}.’'\-–&]++\Z")
"""The last word, with the periods in it; not the end of a URL or the like."""
_INITIAL = regex.compile(r"[\p{Lu}\p{Ll}]")
_ACRONYM = regex.compile(r"(?:\p{L}\.-?)++\p{L}")
_ROMAN = regex.compile(r"[IVXLCDM]++")
_MARKER = regex.compile(r"\s*+[\p{Ps}*•·-]*+\s*+(?:\d{1,3}+|\p{L}|[ivxIVX]{1,5}+)")
"""A number or letter that starts an item of a list."""
_DATE = regex.compile(r"(?<!\d)\d{4}(?:\.\s?\d{1,2}){0,2}\Z")
_WHOLE_DATE = regex.compile(r"(?<!\d)\d{4}(?:\.\s?\d{1,2}){2}\Z")
_CJK = r"[\p{Hangul}\p{Han}\p{Hiragana}\p{Katakana}ー]"
_CJK_BEFORE, _CJK_AFTER = regex.compile(rf"{_CJK}\Z"), regex.compile(rf"[「『“‘《（]?{_CJK}")
_ELLIPSIS = regex.compile(r"[…‥]++|\.\.++")
_QUOTED = regex.compile(r"[\"'”’»«“‘」』]")
_INTRODUCED = regex.compile(r"[:：]\s?[\"“„«「][^\"“„«「]*+\Z")
"""A quotation introduced by a colon: the text after it is another sentence."""
_PARTS = regex.compile(r"[’'\-–&]")
_TITLES = ("モーニング娘。", "乙女。")
"""Names that end in a terminator."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place where a sentence may end.

    Attributes:
        before: the sentence up to the terminator, its last ``NEAR`` characters at most.
        mark: the terminator.
        closing: quotation marks and brackets that close after it.
        gap: the white space after these.
        after: the next characters, at most ``NEAR``; not empty.
        caseless: whether the line has no capital letter at all.
    """

    before: str
    mark: str
    closing: str
    gap: str
    after: str
    caseless: bool


def ends(candidate: Candidate, language: str) -> bool:
    """Return whether a sentence ends at a candidate; ``language`` is a code of two or three letters."""
    c = candidate
    if _CONTINUED.match(c.after) or _in_brackets(c) or not any(map(str.isalnum, c.before)):
        return False
    reporting = REPORTING.get(language) if _QUOTED.search(c.closing) else None
    if reporting and reporting.match(c.after) and not _INTRODUCED.search(c.before):
        return False
    if _ELLIPSIS.fullmatch(c.mark):
        match = _NEXT.match(c.after)
        return bool(c.gap and match and match["word"][0].isupper())
    if not c.gap:
        return _ends_without_space(c)
    match = _NEXT.match(c.after)
    if match is None:
        return True
    word = match["word"]
    if word[0].islower() and not _BRAND.match(word) and (not c.caseless or _QUOTED.search(c.closing)):
        return False
    return c.mark != "." or _ends_at_period(
        c, language, word, initial=len(word) == 1 and bool(match["period"])
    )


def _in_brackets(c: Candidate) -> bool:
    """Return whether the terminator is part of a title, or of a parenthesis inside a sentence."""
    if c.gap or not c.closing:
        return False
    if "》" in c.closing or "』" in c.closing:
        return True
    opening = {")": "(", "）": "（"}.get(c.closing[0])
    return opening is not None and opening in c.before and not c.before.lstrip().startswith(opening)


def _ends_without_space(c: Candidate) -> bool:
    if c.mark.isascii():  # "co.uk", but also Korean without spaces
        return not c.closing and bool(_CJK_BEFORE.search(c.before) and _CJK_AFTER.match(c.after))
    digits = c.mark == "．" and c.before[-1:].isdigit() and c.after[0].isdigit()
    return not digits and not (c.before + c.mark).endswith(_TITLES)


def _ends_at_period(c: Candidate, language: str, word: str, *, initial: bool) -> bool:
    """Return whether a period with space after it ends a sentence.

    ``initial``: the next word is a single letter with a period, so not a sentence starter.
    """
    if _MARKER.fullmatch(c.before):
        return False
    token = match[0] if (match := _WORD.search(c.before)) else ""
    last = _PARTS.split(token)[-1]
    names = {token, token.lower(), last, last.lower()}
    starter = word.lower() in STARTERS and not initial
    ordinals = language in ORDINALS
    if names & NEVER:
        return False
    if names & OFTEN:
        return True
    if _INITIAL.fullmatch(token) or _ACRONYM.fullmatch(token):
        return starter
    if names & NUMBERED or (ordinals and token.endswith("str")):
        return starter or not (word[0].isdigit() or len(word) == 1 or _ROMAN.fullmatch(word))
    if names & SELDOM:
        return starter
    if token.isdigit():
        if (ordinals or language in ("ko", "ja", "zh")) and _DATE.search(c.before):
            return not (word[0].isdigit() or _WHOLE_DATE.search(c.before))
        return starter or not (ordinals and len(token) <= 2)
    return starter or not (ordinals and _ROMAN.fullmatch(token))
