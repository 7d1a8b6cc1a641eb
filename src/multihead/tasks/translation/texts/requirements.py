"""Phrases that the translation of a sentence must contain: its placeholders and terms."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from multihead.search.phrase import Phrase
from multihead.tasks.translation.texts.protected_line import SearchedLine
from multihead.text import symbols
from multihead.text.symbols import SPACE
from multihead.text.term_matching import is_bounded
from multihead.text.terms import Term
from multihead.text.tokenizer import Tokenizer

MAX_TOKENS = 60
"""Most tokens of all phrases of a sentence."""


def required_phrases(line: SearchedLine, tokenizer: Tokenizer) -> tuple[Phrase, ...] | None:
    """Return the phrases that the output of a line must contain.

    Args:
        line: the sentence.
        tokenizer: target tokenizer, for marked text if the line is marked.

    Returns:
        The phrases; None if there are none, one is not in this vocabulary, or they are too long.
    """
    phrases = [Phrase(((tokenizer.symbols[symbol],),)) for symbol, _ in line.table.entries]
    items: list[tuple[tuple[str, ...], str]] = [((span.text,), span.text[-1]) for span in line.table.left]
    items += [(spellings(match.term), match.term.target[-1]) for match in line.matches]
    for texts, last in items:
        forms = _forms(texts, tokenizer, marked=line.symbols)
        if not forms:
            return None
        phrases.append(Phrase(forms, _follows(tokenizer, last)))
    if not phrases or sum(phrase.length for phrase in phrases) > MAX_TOKENS:
        return None
    return tuple(phrases)


def spellings(term: Term) -> tuple[str, ...]:
    """Return the forms of a term's translation, also capitalised for the start of a sentence."""
    upper = (
        form[0].upper() + form[1:] for form in term.forms if term.case != "exact" and form == form.lower()
    )
    return tuple(dict.fromkeys((*term.forms, *upper)))


def _forms(texts: tuple[str, ...], tokenizer: Tokenizer, *, marked: bool) -> tuple[tuple[int, ...], ...]:
    """Return the tokens of each text that the vocabulary represents exactly."""
    forms = []
    for text in texts:
        written = symbols.escape(text) if marked else text
        ids = tuple(tokenizer.encode(written))
        if ids and tokenizer.unk_id not in ids and tokenizer.decode(ids) == tokenizer.normalize(written):
            forms.append(ids)
    return tuple(forms)


@lru_cache(maxsize=256)
def _follows(tokenizer: Tokenizer, last: str) -> NDArray[np.bool_]:
    """Return a mask of the tokens that end the word of a phrase with this last letter."""
    pieces = [tokenizer.piece(number) for number in range(tokenizer.vocab_size)]
    starts = tokenizer.word_starts.tolist()
    return np.array(
        [
            start or piece.startswith((SPACE, "<0x")) or not piece or is_bounded(last + piece, 0, 1)
            for piece, start in zip(pieces, starts, strict=True)
        ],
        dtype=bool,
    )
