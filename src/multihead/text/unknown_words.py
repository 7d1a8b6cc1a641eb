"""Words that a vocabulary cannot spell: names in another script, or with letters that training never had."""

from collections.abc import Sequence
from functools import lru_cache

import regex

from multihead.text.placeholder_patterns import PlaceholderSpan
from multihead.text.scripts import script
from multihead.text.tokenizer import Tokenizer

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_GAP = regex.compile(r"[ \u00a0'’·-]?")
_SYLLABIC = frozenset(("CJK", "KANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"))
"""Scripts in which a rare letter is not a sign of a foreign word, or words have no spaces between them."""


def unknown_words(text: str, tokenizer: Tokenizer) -> Sequence[PlaceholderSpan]:
    """Return the words with letters that are not in a vocabulary; neighbours are one span.

    A letter is unknown if it, and its capital or small form, is encoded as the unknown token or as bytes. In
    the source's own syllabic script (Hangul, Chinese characters) such words are left to the model.
    """
    unknown = {
        letter
        for letter in set(text)
        if letter.isalpha() and not (_is_known(tokenizer, letter) or _is_known(tokenizer, letter.swapcase()))
    }
    spans: list[PlaceholderSpan] = []
    for match in _WORD.finditer(text) if unknown else ():
        if not _is_foreign(match[0], unknown):
            continue
        start, end = match.span()
        if spans and _GAP.fullmatch(text, spans[-1].end, start):
            start = spans.pop().start
        spans.append(PlaceholderSpan(start, end, "unknown", text[start:end]))
    return spans


def _is_foreign(word: str, unknown: set[str]) -> bool:
    scripts = {script(letter) for letter in word if letter in unknown}
    known = {script(letter) for letter in word if letter.isalpha() and letter not in unknown}
    return bool(scripts) and not (scripts & known & _SYLLABIC)


@lru_cache(maxsize=1 << 14)
def _is_known(tokenizer: Tokenizer, letter: str) -> bool:
    ids = tokenizer.encode(letter)
    return tokenizer.unk_id not in ids and not any(
        tokenizer.piece(number).startswith("<0x") for number in ids
    )
