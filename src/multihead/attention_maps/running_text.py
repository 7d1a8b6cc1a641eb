"""Tokens of running text, of which no space and no line feed is lost, as they stand beside a picture."""

import re
from bisect import bisect_right

from multihead.attention_maps.tokens import Sentence, Token
from multihead.text.tokenizer import Tokenizer

_WORD = re.compile(r"\w+(?:['’\-]\w+)*|\s+|[^\w\s]+")
_VISIBLE = str.maketrans({" ": "␣", "\n": "⏎", "\t": "⇥"})


def running_text(tokenizer: Tokenizer, text: str) -> Sentence:
    """Return the tokens of a text, each as the part of the text that it stands for.

    The pieces of language models do not say where words start as those of translators do: they may be single
    characters, or bytes. So a word is what the text itself shows as one; what lies between two words, spaces
    and punctuation, counts as a word too. Spaces and line feeds that are tokens are made visible. Several
    tokens of one character (its bytes) are numbered.
    """
    pieces = tokenizer.pieces(text)
    starts = [found.start() for found in _WORD.finditer(text)]
    spans = [(piece.start, piece.end) for piece in pieces]
    tokens: list[Token] = []
    words: list[Token] = []
    last = -1
    for place, (start, end) in enumerate(spans):
        # A token of nothing but spaces starts after them.
        begin = start if start < end else max(0, end - 1)
        number = bisect_right(starts, begin) - 1
        if number != last:
            last = number
            found = _WORD.match(text, starts[number])
            words.append(Token(visible_spaces(found.group() if found else text[begin:end]), len(words)))
        tokens.append(Token(_shown(text[begin:end], spans, place), len(words) - 1))
    return Sentence(tuple(tokens), tuple(words))


def visible_spaces(text: str) -> str:
    """A text of nothing but spaces, with signs for them; any other as it is."""
    return text if text.strip() else text.translate(_VISIBLE)


def _shown(text: str, spans: list[tuple[int, int]], place: int) -> str:
    same = [
        other
        for other in range(max(0, place - 3), min(len(spans), place + 4))
        if spans[other] == spans[place]
    ]
    if len(same) == 1 or len(text) != 1:
        return visible_spaces(text)
    return f"{text}{'₁₂₃₄'[min(same.index(place), 3)]}"
