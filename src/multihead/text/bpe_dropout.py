"""BPE-dropout: subword regularisation by skipping random merges (Provilkov et al. 2020, sec. 3).

The ``tokenizers`` library implements it without a seed. Here every segmentation is a function of
(seed, key), so an epoch can be replayed from any position by any number of processes.
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
"""Segmentations sampled per word; each occurrence of the word uses one of them."""
_CACHE_SIZE = 200_000
"""Words in the cache. A full cache is emptied; the same segmentations are then computed again."""

_MASK = (1 << 64) - 1
_STEP = np.uint64(0x9E3779B97F4A7C15)
_ID = np.dtype("<u4")

Ids = npt.NDArray[np.unsignedinteger]
Merges = dict[tuple[int, int], tuple[int, int]]
"""(left id, right id) -> (rank, id of the merged piece)."""


class BPEDropout:
    """Encodes text with a BPE tokenizer, skipping random merges.

    Args:
        tokenizer: a BPE tokenizer.
        dropout: probability of skipping a merge, each time it applies; in [0, 1).
        seed: together with the key of each text, determines its segmentation.

    Raises:
        UserError: the tokenizer is not BPE.
    """

    def __init__(self, tokenizer: Tokenizer, dropout: float, seed: int) -> None:
        assert 0 <= dropout < 1
        self._tokenizer = tokenizer
        self._dropout = dropout
        self._seed = seed & _MASK
        self._merges = _merges(tokenizer)
        self._characters = _characters(tokenizer)
        self._starts = tokenizer.word_starts
        self._cache: dict[bytes, list[bytes | None]] = {}

    def encode(self, text: str, *key: int) -> list[int]:
        """Return the token ids of a text for (seed, key); the key may be (epoch, sentence, side)."""
        ids: list[int] = self.reencode([np.array(self._tokenizer.encode(text), _ID)], [key])[0].tolist()
        return ids

    def encode_batch(self, texts: Sequence[str], keys: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return ``encode`` of each text with its key. All keys have the same length."""
        ids = [np.array(encoded, _ID) for encoded in self._tokenizer.encode_batch(texts)]
        return [encoded.tolist() for encoded in self.reencode(ids, keys)]

    def reencode(
        self, sentences: Sequence[Sequence[int] | npt.NDArray[np.integer]], keys: Sequence[Sequence[int]]
    ) -> list[Ids]:
        """Return ``encode`` of each text with its key, from its token ids. Fastest for stored data.

        Args:
            sentences: token ids of each text as the tokenizer gives them, (N,).
            keys: integers that identify this use of each text; all keys have the same length.

        Returns:
            new token ids of each text, (N',).
        """
        arrays = [np.asarray(sentence, _ID) for sentence in sentences]
        if not self._dropout or not sum(map(len, arrays)):
            return arrays
        ids = np.concatenate(arrays)
        bounds = np.cumsum([len(array) for array in arrays])[:-1]
        starts = self._starts[ids]
        starts[bounds[bounds < len(ids)]] = starts[0] = True
        begins = np.flatnonzero(starts)
        # Sentence s has the words first[s]:first[s + 1].
        first = np.searchsorted(begins, [0, *bounds, len(ids)])
        counts = np.diff(first)
        place = np.arange(len(begins), dtype=np.uint64) - np.repeat(first[:-1], counts).astype(np.uint64)
        hashes = _splitmix64(np.repeat(self._key_hashes(keys), counts) + place * _STEP)
        variants = hashes % np.uint64(VARIANTS)
        flat = ids.tobytes()
        edges = [*(begins * _ID.itemsize).tolist(), len(flat)]
        words = [
            self._segment(flat[start:end], variant)
            for (start, end), variant in zip(pairwise(edges), variants.tolist(), strict=True)
        ]
        return [np.frombuffer(b"".join(words[start:end]), _ID) for start, end in pairwise(first.tolist())]

    def _key_hashes(self, keys: Sequence[Sequence[int]]) -> npt.NDArray[np.uint64]:
        """Return a 64-bit hash of seed and key for each key, (B,)."""
        state = np.full(len(keys), self._seed, dtype=np.uint64)
        for column in zip(*keys, strict=True):
            state = _splitmix64(state ^ np.array([part & _MASK for part in column], dtype=np.uint64))
        return state

    def _segment(self, word: bytes, variant: int) -> bytes:
        """Return one segmentation of a word, cached or computed. A word is the bytes of its token ids."""
        variants = self._cache.get(word)
        if variants is None:
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.clear()
            variants = self._cache[word] = [None] * VARIANTS
        segmentation = variants[variant]
        if segmentation is None:
            ids = struct.unpack(f"<{len(word) // _ID.itemsize}I", word)
            characters = [character for piece in ids for character in self._characters[piece]]
            uniform = _uniform(struct.pack("<QQ", self._seed, variant), word)
            pieces = merge(characters, self._merges, self._dropout, uniform)
            segmentation = variants[variant] = struct.pack(f"<{len(pieces)}I", *pieces)
        return segmentation


def merge(characters: Sequence[int], merges: Merges, dropout: float, uniform: Iterator[float]) -> list[int]:
    """Merge the characters of a word into pieces, skipping random merges (algorithm 1 of the paper).

    The paper drops each applicable merge with probability ``dropout`` and makes the leftmost merge of lowest
    rank among the rest, until none is left. Trying merges in that order until one is not dropped is
    equivalent.
    """
    symbols: list[int | None] = list(characters)
    end = len(symbols)
    before, after = list(range(-1, end - 1)), list(range(1, end + 1))
    queue = [
        (*merges[pair], place, pair) for place, pair in enumerate(pairwise(characters)) if pair in merges
    ]
    heapify(queue)
    dropped = []
    while queue:
        candidate = heappop(queue)
        _, merged, place, (left, right) = candidate
        other = after[place]
        if symbols[place] != left or other == end or symbols[other] != right:
            continue  # outdated: one of the two has been merged since
        if next(uniform) < dropout:
            dropped.append(candidate)
            continue
        symbols[place], symbols[other] = merged, None
        after[place] = after[other]
        if after[place] < end:
            before[after[place]] = place
        for here in (before[place], place):
            if here >= 0 and after[here] < end and (pair := (symbols[here], symbols[after[here]])) in merges:
                heappush(queue, (*merges[pair], here, pair))
        for candidate in dropped:
            heappush(queue, candidate)
        dropped.clear()
    return [symbol for symbol in symbols if symbol is not None]


def _uniform(seed: bytes, word: bytes) -> Iterator[float]:
    """Yield random numbers in [0, 1), a function of seed and word."""
    for block in count():
        digest = blake2b(word, key=seed, salt=struct.pack("<Q", block)).digest()
        for value in struct.unpack("<16I", digest):
            yield value / (1 << 32)


def _splitmix64(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash each value to 64 pseudo-random bits (SplitMix64, Steele et al. 2014)."""
    a, b = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
    values = values + _STEP
    values = (values ^ (values >> np.uint64(30))) * a
    values = (values ^ (values >> np.uint64(27))) * b
    return values ^ (values >> np.uint64(31))


def supports_dropout(tokenizer: Tokenizer) -> bool:
    """Return whether a tokenizer is plain BPE, whose merges can be left out one by one."""
    model = tokenizer.content["model"]
    special = ("continuing_subword_prefix", "end_of_word_suffix", "ignore_merges", "dropout")
    return model["type"] == "BPE" and bool(model["merges"]) and not any(map(model.get, special))


def check_dropout(tokenizer: Tokenizer) -> None:
    """Raise ``UserError`` if BPE-dropout does not work with a tokenizer, or has no merge to leave out."""
    if not supports_dropout(tokenizer):
        remedy = 'Set tokenizer.dropout to 0, or tokenizer.kind to "bpe".'
        raise UserError("BPE-dropout needs a plain BPE tokenizer", place="tokenizer.dropout", remedy=remedy)


def _merges(tokenizer: Tokenizer) -> Merges:
    """Return the merges of a plain BPE tokenizer by token id; refuse any other tokenizer."""
    check_dropout(tokenizer)
    model = tokenizer.content["model"]
    ids = model["vocab"]
    pairs = enumerate(model["merges"])
    return {(ids[left], ids[right]): (rank, ids[left + right]) for rank, (left, right) in pairs}


def _characters(tokenizer: Tokenizer) -> list[tuple[int, ...]]:
    """Return each piece as the ids of its characters.

    Byte pieces and special tokens stay whole, as does a piece whose characters are not all in the vocabulary.
    """
    ids = tokenizer.content["model"]["vocab"]
    whole = {*BYTES, *map(tokenizer.piece, tokenizer.special_ids)}
    characters: list[tuple[int, ...]] = []
    for number in range(tokenizer.vocab_size):
        piece = tokenizer.piece(number)
        apart = piece in ids and piece not in whole and all(character in ids for character in piece)
        characters.append(tuple(ids[character] for character in piece) if apart else (number,))
    return characters
