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
    a syllabic script (Hangul, Chinese characters) of which the text has known letters, such words are left to
    the model.
    """
    unknown = {
        letter
        for letter in set(text)
        if letter.isalpha() and not (_is_known(tokenizer, letter) or _is_known(tokenizer, letter.swapcase()))
    }
    if not unknown:
        return []
    known_scripts = {script(letter) for letter in set(text) - unknown if letter.isalpha()}
    spans: list[PlaceholderSpan] = []
    for match in _WORD.finditer(text):
        scripts = {script(letter) for letter in match[0] if letter in unknown}
        if not scripts or scripts & known_scripts & _SYLLABIC:
            continue
        start, end = match.span()
        if spans and _GAP.fullmatch(text, spans[-1].end, start):
            start = spans.pop().start
        spans.append(PlaceholderSpan(start, end, "unknown", text[start:end]))
    return spans


@lru_cache(maxsize=1 << 14)
def _is_known(tokenizer: Tokenizer, letter: str) -> bool:
    ids = tokenizer.encode(letter)
    return tokenizer.unk_id not in ids and not any(
        tokenizer.piece(number).startswith("<0x") for number in ids
    )
