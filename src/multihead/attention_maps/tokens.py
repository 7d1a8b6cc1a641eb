"""Tokens as they stand beside a picture: what to write, and which word they belong to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from multihead.text.tokenizer import Tokenizer

_MARKS = ("▁", "Ġ", "##")
"""How pieces say that a word starts, or goes on, with them (Metaspace, byte-level, WordPiece)."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece or a whole word.

    Attributes:
        text: what to show, without the mark that says whether a word starts here.
        word: the number of its word in the sentence, from 0; a special symbol is a word of its own.
        special: whether it is a begin, end or padding symbol.
    """

    text: str
    word: int
    special: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """One side of a pair: its pieces, one for each position of the model, and the words that they make."""

    pieces: tuple[Token, ...]
    words: tuple[Token, ...]


def sentence(tokenizer: Tokenizer, ids: Sequence[int]) -> Sentence:
    """Return piece ids, special symbols where they stand, as tokens to show."""
    controls = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}
    numbers = list(_word_numbers(tokenizer, ids, controls))
    pieces = tuple(
        Token(_shown(tokenizer.piece(id)), word, id in controls)
        for id, word in zip(ids, numbers, strict=True)
    )
    words = tuple(
        _word([pieces[place] for place in places], [ids[place] for place in places], tokenizer)
        for places in (list(group) for _, group in groupby(range(len(ids)), key=numbers.__getitem__))
    )
    return Sentence(pieces, words)


def _word_numbers(tokenizer: Tokenizer, ids: Sequence[int], controls: set[int]) -> Iterator[int]:
    """A word starts where a piece says so, and after a special symbol."""
    word, after_control = -1, True
    for id in ids:
        word += bool(tokenizer.word_starts[id]) or after_control
        after_control = id in controls
        yield word


def _word(pieces: Sequence[Token], ids: Sequence[int], tokenizer: Tokenizer) -> Token:
    first = pieces[0]
    text = first.text if first.special else tokenizer.decode(ids).strip()
    return Token(text or first.text, first.word, first.special)


def _shown(piece: str) -> str:
    """A piece without its mark; a piece that is nothing but a mark is shown as it is."""
    for mark in _MARKS:
        if piece.startswith(mark) and piece != mark:
            return piece.removeprefix(mark)
    return piece
