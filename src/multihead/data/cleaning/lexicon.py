"""Lexical translation probabilities by IBM model 1 (Brown et al. 1993).

Each half of the corpus is scored by the model of the other half, so that no pair explains itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ITERATIONS = 5
EXPLAINED = 0.5
"""Weight of the lexical probability against the unigram probability of a token."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """Token ids of all lines, laid end to end.

    Attributes:
        ids: the ids, (tokens,).
        starts: where each line begins, and the end, (N + 1,).
        size: the number of different tokens.
    """

    ids: Ints
    starts: Ints
    size: int

    @classmethod
    def of(cls, lines: Sequence[Sequence[int]], size: int) -> "Side":
        """Return the side of these lines."""
        lengths = np.array([len(line) for line in lines], dtype=np.int64)
        flat = np.fromiter((number for line in lines for number in line), np.int64, int(lengths.sum()))
        return cls(flat, np.concatenate([[0], np.cumsum(lengths)]), size)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def chosen(self, rows: Ints) -> "Side":
        """Return the side of some lines, in this order."""
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return Side(self.ids[places], starts, self.size)


class ConditionalLexicon:
    """P(target token | source token), learned by expectation maximisation; source token 0 is empty.

    The table is dense: (source tokens + 1) * target tokens numbers.
    """

    def __init__(self, source: Side, target: Side) -> None:
        cells, owner = _cells(source, target)
        shape = source.size + 1, target.size
        counts = np.bincount(target.ids, minlength=target.size) + 1.0
        self.unigram: Floats = counts / counts.sum()
        table = np.ones(shape[0] * shape[1], dtype=np.float32)
        for _ in range(ITERATIONS):
            share = table[cells]
            share /= np.bincount(owner, share)[owner]
            sums = np.bincount(cells, share, minlength=len(table)).reshape(shape)
            expected: Floats = sums.astype(np.float64, copy=False)
            # One is added, so that a rare source token cannot explain all it meets.
            expected /= expected.sum(axis=1, keepdims=True) + 1.0
            table = expected.astype(np.float32).ravel()
        self._table = table

    def gain(self, source: Side, target: Side) -> tuple[Floats, Floats]:
        """Return how much the source tells about the target, and the share of target tokens it explains.

        The first is the mean over target tokens of log(p(token | source) / p(token)), (N,); the second the
        share of tokens that are at least three times as probable with the source, (N,).
        """
        cells, owner = _cells(source, target)
        sums = np.bincount(owner, self._table[cells], minlength=len(target.ids))
        widths = np.repeat(np.diff(source.starts) + 1, np.diff(target.starts))
        ratio = EXPLAINED * sums / widths / self.unigram[target.ids] + (1 - EXPLAINED)
        return _means(np.log(ratio), target.starts), _means((ratio > 3.0).astype(np.float64), target.starts)


def _means(values: Floats, starts: Ints) -> Floats:
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means: Floats = (sums[starts[1:]] - sums[starts[:-1]]) / np.maximum(1, np.diff(starts))
    return means


def _cells(source: Side, target: Side) -> tuple[Ints, Ints]:
    """Return each (source token, target token) of a pair as one number, and the target token's place.

    The empty source token 0 is in every pair; the others are their ids + 1.
    """
    widths = np.diff(source.starts) + 1
    per_token = np.repeat(widths, np.diff(target.starts))
    owner = np.repeat(np.arange(len(target.ids)), per_token)
    begins = np.concatenate([[0], np.cumsum(per_token)[:-1]]) if len(per_token) else np.zeros(0, np.int64)
    offset = np.arange(len(owner)) - np.repeat(begins, per_token)
    first = np.repeat(np.repeat(source.starts[:-1], np.diff(target.starts)), per_token)
    padded = np.append(source.ids, 0)
    words = np.where(offset == 0, 0, padded[np.maximum(0, first + offset - 1)] + 1)
    return words * target.size + target.ids[owner], owner
