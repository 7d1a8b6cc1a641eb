"""Tokens as they stand beside a picture: what to write, and which word they belong to."""

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
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
    """One side of a pair: its pieces, one for each position of the model, and the words that they make.

    Punctuation before and after a word is a word of its own; inside ("forty-two", "don't") it is not.
    """

    pieces: tuple[Token, ...]
    words: tuple[Token, ...]


def sentence(tokenizer: Tokenizer, ids: Sequence[int], alone: Collection[int] = ()) -> Sentence:
    """Return piece ids, special symbols where they stand, as tokens to show.

    Args:
        tokenizer: whose pieces they are.
        ids: the pieces.
        alone: pieces besides the special symbols that are always words of their own, as a gap is.
    """
    controls = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}
    alone = {*alone, *tokenizer.symbols.values()}
    pieces: list[Token] = []
    words: list[Token] = []
    for places in _words(tokenizer, ids, controls.union(alone)):
        inside = [ids[place] for place in places]
        special = inside[0] in controls
        shown = [_shown(tokenizer.piece(id)) for id in inside]
        single = special or inside[0] in alone
        text = shown[0] if single else tokenizer.decode(inside).strip() or shown[0]
        pieces += [Token(piece, len(words), special) for piece in shown]
        words.append(Token(text, len(words), special))
    return Sentence(tuple(pieces), tuple(words))


def _words(tokenizer: Tokenizer, ids: Sequence[int], alone: set[int]) -> Iterator[list[int]]:
    """The places of each word's pieces. A word starts where a piece says so; some pieces stand alone."""
    numbers: list[int] = []
    for place, id in enumerate(ids):
        new = (
            place == 0 or bool(tokenizer.word_starts[id]) or not alone.isdisjoint(ids[place - 1 : place + 1])
        )
        numbers.append((numbers[-1] if numbers else -1) + new)
    for _, group in groupby(range(len(ids)), key=numbers.__getitem__):
        places = list(group)
        yield from _without_punctuation(places, [_shown(tokenizer.piece(ids[place])) for place in places])


def _without_punctuation(places: Sequence[int], shown: Sequence[str]) -> Iterable[list[int]]:
    """Cut a word into what stands before it, itself, and what stands after it."""
    marks = [text in _MARKS for text in shown]
    core = [i for i, text in enumerate(shown) if not marks[i] and not _is_punctuation(text)]
    if not core:
        return [list(places)]
    # A mark alone belongs to what follows it.
    start = 0 if all(marks[: core[0]]) else core[0]
    cuts = (places[:start], places[start : core[-1] + 1], places[core[-1] + 1 :])
    return [list(part) for part in cuts if part]


def _is_punctuation(text: str) -> bool:
    return all(unicodedata.category(char).startswith("P") for char in text)


def _shown(piece: str) -> str:
    """A piece without its mark; a piece that is nothing but a mark is shown as it is."""
    for mark in _MARKS:
        if piece.startswith(mark) and piece != mark:
            return piece.removeprefix(mark)
    return piece
