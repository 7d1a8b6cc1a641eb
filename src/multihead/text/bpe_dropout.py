"""BPE-dropout: in training a word is cut now this way, now that (Provilkov et al. 2020, sec. 3).

The library has it too, but cannot be told a seed. Here every cut is a function of (seed, key), so that an
epoch can be read again, from any place in it, by any number of processes.
"""

import struct
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from itertools import count, pairwise

import numpy as np
import numpy.typing as npt

from multihead.errors import UserError
from multihead.text.pieces import BYTES
from multihead.text.tokenizer import Tokenizer

VARIANTS = 32
"""Cuts drawn for each word; one of them is taken each time that the word occurs."""
_MOST_WORDS = 200_000
"""Words whose cuts are remembered; then all are forgotten, and drawn again the same."""

_MASK = (1 << 64) - 1
_STEP = np.uint64(0x9E3779B97F4A7C15)
_ID = np.dtype("<u4")

Ids = npt.NDArray[np.unsignedinteger]
Merges = dict[tuple[int, int], tuple[int, int]]
"""(left id, right id) -> (rank, id of both together)."""


class BPEDropout:
    """Encode text with merges left out at random.

    Args:
        tokenizer: a BPE tokenizer.
        dropout: the chance that a merge is left out, each time that it could be made; in [0, 1).
        seed: everything random follows from it and from the keys given later.

    Raises:
        UserError: the tokenizer is not BPE.
    """

    def __init__(self, tokenizer: Tokenizer, dropout: float, seed: int) -> None:
        assert 0 <= dropout < 1
        self._tokenizer = tokenizer
        self._dropout = dropout
        self._seed = seed & _MASK
        self._merges = _merges(tokenizer)
        self._letters = _letters(tokenizer)
        self._starts = tokenizer.word_starts
        self._cuts: dict[bytes, list[bytes | None]] = {}

    def encode(self, text: str, *key: int) -> list[int]:
        """Return a text's piece ids, as drawn for (seed, key), e.g. a key of epoch, sentence and side."""
        ids: list[int] = self.reencode([np.array(self._tokenizer.encode(text), _ID)], [key])[0].tolist()
        return ids

    def encode_batch(self, texts: Sequence[str], keys: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return ``encode`` of each text with its key; the keys have one length."""
        ids = [np.array(encoded, _ID) for encoded in self._tokenizer.encode_batch(texts)]
        return [encoded.tolist() for encoded in self.reencode(ids, keys)]

    def reencode(
        self, sentences: Sequence[Sequence[int] | npt.NDArray[np.integer]], keys: Sequence[Sequence[int]]
    ) -> list[Ids]:
        """Return other ids of the same texts: what ``encode`` gives for each with its key. The fastest way.

        Args:
            sentences: the tokenizer's ids of each text, (N,).
            keys: for each text, whole numbers that tell this use of it from others; all of one length.

        Returns:
            for each text its ids, (N',).
        """
        arrays = [np.asarray(sentence, _ID) for sentence in sentences]
        if not self._dropout or not sum(map(len, arrays)):
            return arrays
        ids = np.concatenate(arrays)
        bounds = np.cumsum([len(array) for array in arrays])[:-1]
        starts = self._starts[ids]
        starts[bounds[bounds < len(ids)]] = starts[0] = True
        begins = np.flatnonzero(starts)
        # Sentence s has the words first[s]:first[s + 1] of all.
        first = np.searchsorted(begins, [0, *bounds, len(ids)])
        counts = np.diff(first)
        place = np.arange(len(begins), dtype=np.uint64) - np.repeat(first[:-1], counts).astype(np.uint64)
        variants = _mixed(np.repeat(self._mixed_keys(keys), counts) + place * _STEP) % np.uint64(VARIANTS)
        flat = ids.tobytes()
        edges = [*(begins * _ID.itemsize).tolist(), len(flat)]
        cuts = [
            self._cut(flat[start:end], variant)
            for (start, end), variant in zip(pairwise(edges), variants.tolist(), strict=True)
        ]
        return [np.frombuffer(b"".join(cuts[start:end]), _ID) for start, end in pairwise(first.tolist())]

    def _mixed_keys(self, keys: Sequence[Sequence[int]]) -> npt.NDArray[np.uint64]:
        """Return 64 bits for each key, (B,)."""
        state = np.full(len(keys), self._seed, dtype=np.uint64)
        for column in zip(*keys, strict=True):
            state = _mixed(state ^ np.array([part & _MASK for part in column], dtype=np.uint64))
        return state

    def _cut(self, word: bytes, variant: int) -> bytes:
        """Return one of a word's cuts, remembered or drawn. Words are the bytes of their ids."""
        cuts = self._cuts.get(word)
        if cuts is None:
            if len(self._cuts) >= _MOST_WORDS:
                self._cuts.clear()
            cuts = self._cuts[word] = [None] * VARIANTS
        found = cuts[variant]
        if found is None:
            ids = struct.unpack(f"<{len(word) // _ID.itemsize}I", word)
            letters = [letter for piece in ids for letter in self._letters[piece]]
            chances = _chances(struct.pack("<QQ", self._seed, variant), word)
            pieces = cut(letters, self._merges, self._dropout, chances)
            found = cuts[variant] = struct.pack(f"<{len(pieces)}I", *pieces)
        return found


def cut(letters: Sequence[int], merges: Merges, dropout: float, chances: Iterator[float]) -> list[int]:
    """Return the pieces that a word's letters are merged to (algorithm 1 of the paper).

    At every step each possible merge is left out with the probability ``dropout``, and of the others the
    first in rank, leftmost, is made; until none is left. To try them in that order until one is not left
    out, as here, is the same.

    Args:
        letters: ids.
        merges: what may be merged.
        dropout: the probability of leaving out.
        chances: random numbers, uniform in [0, 1).
    """
    symbols: list[int | None] = list(letters)
    end = len(symbols)
    before, after = list(range(-1, end - 1)), list(range(1, end + 1))
    waiting = [(*merges[pair], place, pair) for place, pair in enumerate(pairwise(letters)) if pair in merges]
    heapify(waiting)
    left_out = []
    while waiting:
        candidate = heappop(waiting)
        _, merged, place, (left, right) = candidate
        other = after[place]
        if symbols[place] != left or other == end or symbols[other] != right:
            continue  # one of the two has been merged with another since
        if next(chances) < dropout:
            left_out.append(candidate)
            continue
        symbols[place], symbols[other] = merged, None
        after[place] = after[other]
        if after[place] < end:
            before[after[place]] = place
        for here in (before[place], place):
            if here >= 0 and after[here] < end and (pair := (symbols[here], symbols[after[here]])) in merges:
                heappush(waiting, (*merges[pair], here, pair))
        for candidate in left_out:
            heappush(waiting, candidate)
        left_out.clear()
    return [symbol for symbol in symbols if symbol is not None]


def _chances(seed: bytes, word: bytes) -> Iterator[float]:
    """Yield random numbers in [0, 1), a function of seed and word."""
    for block in count():
        digest = blake2b(word, key=seed, salt=struct.pack("<Q", block)).digest()
        for value in struct.unpack("<16I", digest):
            yield value / (1 << 32)


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return each value turned into one that looks random (SplitMix64, Steele et al. 2014)."""
    a, b = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
    values = values + _STEP
    values = (values ^ (values >> np.uint64(30))) * a
    values = (values ^ (values >> np.uint64(27))) * b
    return values ^ (values >> np.uint64(31))


def _merges(tokenizer: Tokenizer) -> Merges:
    """Return a tokenizer's merges by ids; refuse tokenizers that cut by other rules."""
    model = tokenizer.content["model"]
    special = ("continuing_subword_prefix", "end_of_word_suffix", "ignore_merges", "dropout")
    if model["type"] != "BPE" or any(model.get(name) for name in special):
        remedy = 'Set tokenizer.dropout to 0, or tokenizer.kind to "bpe".'
        raise UserError("BPE-dropout needs a plain BPE tokenizer", place="tokenizer.dropout", remedy=remedy)
    ids = model["vocab"]
    pairs = enumerate(model["merges"])
    return {(ids[left], ids[right]): (rank, ids[left + right]) for rank, (left, right) in pairs}


def _letters(tokenizer: Tokenizer) -> list[tuple[int, ...]]:
    """Return the ids of each piece's letters.

    Bytes and control symbols stay what they are, and so does a piece, of a vocabulary that was made
    elsewhere, of which no merges lead to letters.
    """
    ids = tokenizer.content["model"]["vocab"]
    whole = {*BYTES, *map(tokenizer.piece, tokenizer.controls)}
    found: list[tuple[int, ...]] = []
    for number in range(tokenizer.vocab_size):
        piece = tokenizer.piece(number)
        apart = piece in ids and piece not in whole and all(letter in ids for letter in piece)
        found.append(tuple(ids[letter] for letter in piece) if apart else (number,))
    return found
