"""Token labels for running text that keep every space and line feed."""

import re
from bisect import bisect_right

from multihead.inspect.maps.tokens import Sentence, TokenLabel
from multihead.text.tokenizer import Tokenizer

_WORD = re.compile(r"\w+(?:['’\-]\w+)*|\s+|[^\w\s]+")
_VISIBLE = str.maketrans({" ": "␣", "\n": "⏎", "\t": "⇥"})


def running_text(tokenizer: Tokenizer, text: str) -> Sentence:
    """Return the tokens of a text, each labelled with the span of text that it covers.

    The subwords of a language model may be characters or bytes and need not mark word starts, so words are
    found in the text itself. A run of spaces or punctuation between two words counts as a word. White-space
    tokens get visible signs. Tokens that share one character (its bytes) are numbered.
    """
    pieces = tokenizer.pieces(text)
    starts = [match.start() for match in _WORD.finditer(text)]
    spans = [(piece.start, piece.end) for piece in pieces]
    tokens: list[TokenLabel] = []
    words: list[TokenLabel] = []
    last = -1
    for i, (start, end) in enumerate(spans):
        # The span of a token that is only spaces starts after them.
        begin = start if start < end else max(0, end - 1)
        number = bisect_right(starts, begin) - 1
        if number != last:
            last = number
            match = _WORD.match(text, starts[number])
            words.append(TokenLabel(visible_spaces(match.group() if match else text[begin:end]), len(words)))
        tokens.append(TokenLabel(_label(text[begin:end], spans, i), len(words) - 1))
    return Sentence(tuple(tokens), tuple(words))


def visible_spaces(text: str) -> str:
    """Return a white-space text with visible signs; return any other text unchanged."""
    return text if text.strip() else text.translate(_VISIBLE)


def _label(text: str, spans: list[tuple[int, int]], i: int) -> str:
    same = [j for j in range(max(0, i - 3), min(len(spans), i + 4)) if spans[j] == spans[i]]
    if len(same) == 1 or len(text) != 1:
        return visible_spaces(text)
    return f"{text}{'₁₂₃₄'[min(same.index(i), 3)]}"
