"""Token labels for figures, and the words that the tokens form."""

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from multihead.text.tokenizer import Tokenizer

_MARKS = ("▁", "Ġ", "##")
"""Markers of a word start or continuation in subwords (Metaspace, byte-level, WordPiece)."""


@dataclass(frozen=True, slots=True)
class TokenLabel:
    """Label of a subword or a word.

    Attributes:
        text: the text without the marker of a word start or continuation.
        word: number of the word in the sentence, from 0; a special symbol counts as a word.
        special: True for a begin, end or padding symbol.
    """

    text: str
    word: int
    special: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sequence: its subwords, one per position of the model, and the words that they form.

    Punctuation before or after a word counts as a word; inside a word ("forty-two", "don't") it does not.
    """

    pieces: tuple[TokenLabel, ...]
    words: tuple[TokenLabel, ...]


def sentence(tokenizer: Tokenizer, ids: Sequence[int], standalone: Collection[int] = ()) -> Sentence:
    """Return the labels of a sequence of subword ids, including its special symbols.

    Args:
        tokenizer: the tokenizer that produced the ids.
        ids: the subwords.
        standalone: subwords besides the special symbols that always form a word, e.g. [MASK].
    """
    controls = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}
    standalone = {*standalone, *tokenizer.symbols.values()}
    pieces: list[TokenLabel] = []
    words: list[TokenLabel] = []
    for positions in _words(tokenizer, ids, controls.union(standalone)):
        inside = [ids[i] for i in positions]
        special = inside[0] in controls
        labels = [_label(tokenizer.piece(id)) for id in inside]
        single = special or inside[0] in standalone
        text = labels[0] if single else tokenizer.decode(inside).strip() or labels[0]
        pieces += [TokenLabel(label, len(words), special) for label in labels]
        words.append(TokenLabel(text, len(words), special))
    return Sentence(tuple(pieces), tuple(words))


def _words(tokenizer: Tokenizer, ids: Sequence[int], standalone: set[int]) -> Iterator[list[int]]:
    """Yield the positions of each word's subwords; words start at word-start subwords and standalone ones."""
    numbers: list[int] = []
    for i, id in enumerate(ids):
        new = i == 0 or bool(tokenizer.word_starts[id]) or not standalone.isdisjoint(ids[i - 1 : i + 1])
        numbers.append((numbers[-1] if numbers else -1) + new)
    for _, group in groupby(range(len(ids)), key=numbers.__getitem__):
        positions = list(group)
        yield from _split_punctuation(positions, [_label(tokenizer.piece(ids[i])) for i in positions])


def _split_punctuation(positions: Sequence[int], labels: Sequence[str]) -> Iterable[list[int]]:
    """Split a word into leading punctuation, the word itself and trailing punctuation."""
    marks = [text in _MARKS for text in labels]
    core = [i for i, text in enumerate(labels) if not marks[i] and not _is_punctuation(text)]
    if not core:
        return [list(positions)]
    # A bare marker belongs to the subword that follows it.
    start = 0 if all(marks[: core[0]]) else core[0]
    cuts = (positions[:start], positions[start : core[-1] + 1], positions[core[-1] + 1 :])
    return [list(part) for part in cuts if part]


def _is_punctuation(text: str) -> bool:
    return all(unicodedata.category(char).startswith("P") for char in text)


def _label(piece: str) -> str:
    """Strip a subword's marker; a subword that is only a marker keeps it."""
    for mark in _MARKS:
        if piece.startswith(mark) and piece != mark:
            return piece.removeprefix(mark)
    return piece
