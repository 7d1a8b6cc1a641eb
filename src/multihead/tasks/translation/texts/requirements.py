"""Phrases that the translation of a sentence must contain: its placeholders, and its terms."""

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
"""More tokens of phrases than this are not searched for."""


def required(line: SearchedLine, tokenizer: Tokenizer) -> tuple[Phrase, ...] | None:
    """Return the phrases that the output of a line must contain.

    Args:
        line: the sentence.
        tokenizer: of the target; one of marked text if the line is marked.

    Returns:
        None where a phrase cannot be written with this vocabulary, or all are too long.
    """
    phrases: list[Phrase] = []
    for symbol, _ in line.table.entries:
        phrases.append(Phrase(((tokenizer.symbols[symbol],),)))
    for span in line.table.left:
        forms = _forms((span.text,), tokenizer, marked=line.symbols)
        phrases += [Phrase(forms, _follows(tokenizer, span.text[-1]))] if forms else []
        if not forms:
            return None
    for match in line.matches:
        forms = _forms(spellings(match.term), tokenizer, marked=line.symbols)
        if not forms:
            return None
        phrases.append(Phrase(forms, _follows(tokenizer, match.term.target[-1])))
    if not phrases or sum(phrase.length for phrase in phrases) > MAX_TOKENS:
        return None
    return tuple(phrases)


def spellings(term: Term) -> tuple[str, ...]:
    """Return the ways to write the translation of a term: its forms, and those at the start of a sentence."""
    upper = (
        form[0].upper() + form[1:] for form in term.forms if term.case != "exact" and form == form.lower()
    )
    return tuple(dict.fromkeys((*term.forms, *upper)))


def _forms(texts: tuple[str, ...], tokenizer: Tokenizer, *, marked: bool) -> tuple[tuple[int, ...], ...]:
    """Return the tokens of each text that the vocabulary can write exactly."""
    found = []
    for text in texts:
        written = symbols.escape(text) if marked else text
        ids = tuple(tokenizer.encode(written))
        if ids and tokenizer.unk_id not in ids and tokenizer.decode(ids) == tokenizer.normalize(written):
            found.append(ids)
    return tuple(found)


@lru_cache(maxsize=256)
def _follows(tokenizer: Tokenizer, last: str) -> NDArray[np.bool_]:
    """Return the tokens that may follow a phrase that ends in this letter: those that continue no word."""
    pieces = [tokenizer.piece(number) for number in range(tokenizer.vocab_size)]
    starts = tokenizer.word_starts.tolist()
    return np.array(
        [
            start or piece.startswith((SPACE, "<0x")) or not piece or is_bounded(last + piece, 0, 1)
            for piece, start in zip(pieces, starts, strict=True)
        ],
        dtype=bool,
    )
