"""Character n-gram models of a language, learned from the lines of a file.

Probabilities are interpolated down to single characters with a Dirichlet prior (MacKay and Bauman Peto 1995).
Counts are hashed. A line of the model's text is scored without its own n-grams.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ORDER = 5
"""Characters of the longest n-gram."""
PRIOR = 2.0
"""Weight of the shorter n-gram's estimate, in characters."""
MOST_BITS = 22
"""Maximum bits of a bucket's number: the counts of an order take up to 2**22 buckets."""
_BORDER = 10
"""A line feed, at both ends of a line."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]


class LineNgrams:
    """The n-grams of texts, computed once for all models.

    Args:
        texts: (N,) lines.
        bits: bits of a bucket's number, equal for all lines that a model scores; None: as many as suit the
            texts.
    """

    def __init__(self, texts: Sequence[str], bits: int | None = None) -> None:
        text = "\n".join(["", *texts, ""]).encode("utf-32-le", "replace")
        points = np.frombuffer(text, dtype="<u4").astype(np.uint64)
        self.lengths: Ints = np.array([len(text) + 1 for text in texts], dtype=np.int64)
        self.ends: Ints = np.cumsum(self.lengths)
        self.line: Ints = np.repeat(np.arange(len(texts)), self.lengths)
        characters = points[1:]
        self.bits = min(MOST_BITS, 2 + len(characters).bit_length()) if bits is None else bits
        key = np.zeros(len(characters), dtype=np.uint64)
        self.keys: list[NDArray[np.int32]] = [_bucket(key, self.bits)]
        for back in range(ORDER):
            # The characters before a line are the border, so that no n-gram crosses two lines.
            earlier = np.full(len(characters), _BORDER, dtype=np.uint64)
            earlier[back + 1 :] = points[1 : max(1, len(points) - back - 1)]
            place = np.arange(len(characters)) - np.repeat(np.append(0, self.ends[:-1]), self.lengths)
            earlier[place <= back] = _BORDER
            self.keys.append(_bucket(_mix(key, characters), self.bits))
            key = _mix(key, earlier)
            self.keys.append(_bucket(key, self.bits))
        self.keys.pop()

    def __len__(self) -> int:
        return len(self.lengths)

    def means(self, values: Floats) -> Floats:
        """Return the mean of the characters' values of each line, (N,)."""
        sums = np.concatenate([[0.0], np.cumsum(values)])
        means: Floats = (sums[self.ends] - np.concatenate([[0.0], sums[self.ends[:-1]]])) / self.lengths
        return means


class CharacterModel:
    """An interpolated n-gram model of characters.

    Args:
        lines: the text to learn from.
        rows: True for the lines to learn from, (N,); None: all.
    """

    def __init__(self, lines: LineNgrams, rows: Rows | None = None) -> None:
        positions = slice(None) if rows is None else rows[lines.line]
        size = 1 << lines.bits
        self._counts = [np.bincount(keys[positions], minlength=size).astype(np.int32) for keys in lines.keys]
        self._kinds = int(np.count_nonzero(self._counts[1])) + 1

    def score(self, lines: LineNgrams, own: Rows | None = None) -> Floats:
        """Return the mean log-probability (nats) of a character of each line, its end included.

        Args:
            lines: N texts.
            own: the lines that are part of the model's text: their own n-grams are subtracted.
        """
        less = np.zeros(1, dtype=np.int64) if own is None else own[lines.line].astype(np.int64)
        probability = np.full(len(lines.line), 1.0 / (self._kinds + 1))
        for order in range(ORDER):
            total = self._counts[2 * order][lines.keys[2 * order]] - less
            count = self._counts[2 * order + 1][lines.keys[2 * order + 1]] - less
            probability = (np.maximum(count, 0) + PRIOR * probability) / (np.maximum(total, 0) + PRIOR)
        return lines.means(np.log(probability))


def _mix(key: NDArray[np.uint64], points: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed: NDArray[np.uint64] = (key ^ (points + np.uint64(1))) * _MULTIPLIER
    mixed ^= mixed >> np.uint64(29)
    return mixed


def _bucket(key: NDArray[np.uint64], bits: int) -> NDArray[np.int32]:
    buckets: NDArray[np.int32] = ((key * _MULTIPLIER) >> np.uint64(64 - bits)).astype(np.int32)
    return buckets
