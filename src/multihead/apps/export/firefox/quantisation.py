"""Quantisation of an exported model to int8, from the activations of calibration sentences.

The engine adds products of unsigned and signed bytes in pairs, in int16. Such a sum saturates beyond 32,767:
possible if both weights of a pair are large, impossible if all are within 63. So each matrix takes the
largest limit at which no pair of the calibration sentences saturates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from multihead.apps.export.firefox.binary import Floats, Item, Quantized
from multihead.apps.export.firefox.reference import ALPHA, OUTPUT, FirefoxReference

LIMITS = (127, 111, 95, 79, 63)
"""Largest absolute values that a matrix may take, in the order of preference; the last cannot saturate."""
SHIFT = 127
"""The engine adds this to rounded inputs, which makes them unsigned."""
LARGEST = 32_767
"""The largest sum of a pair."""
ROWS = 4096
"""Input rows stored per matrix, to count saturation."""
FIRST = 64
"""Rows counted first: if some pairs saturate there, the limit is too high."""
BLOCK, PAIRS = 64, 4096
"""Rows and pairs counted together."""
DEVIATIONS = 1.1
"""Standard deviations above the mean of the largest activations, as in Mozilla's training pipeline."""
NONE = "none" + ALPHA
"""A second name of the output layer's input multiplier."""


class Activations:
    """The largest absolute input of each matrix in every call, and a sample of its rows."""

    def __init__(self) -> None:
        self._largest: dict[str, list[float]] = {}
        self._rows: dict[str, list[Floats]] = {}

    def __call__(self, name: str, x: Floats) -> None:
        """Record a call."""
        calls, rows = self._largest.setdefault(name, []), self._rows.setdefault(name, [])
        if sum(map(len, rows)) < ROWS:
            rows.append(x)
        calls.append(float(np.abs(x).max()))

    def multiplier(self, name: str) -> np.float32:
        """127 / (mean + 1.1 standard deviations of the largest inputs)."""
        largest = np.array(self._largest[name])
        return np.float32(127 / max(largest.mean() + DEVIATIONS * largest.std(), 1e-9))

    def rows(self, name: str) -> Floats:
        """The sample of inputs, (any, K), shuffled, so that any prefix is a random sample."""
        rows = np.concatenate(self._rows[name])
        return rows[np.random.default_rng(0).permutation(len(rows))]


@dataclass(frozen=True)
class Int8:
    """A model in int8.

    Attributes:
        items: parameters by name.
        limits: the largest absolute value of each matrix.
        saturated: fraction of pairs that saturated at 127, for each matrix with a lower limit.
    """

    items: Mapping[str, Item]
    limits: Mapping[str, int]
    saturated: Mapping[str, float]


def activations(
    model: FirefoxReference, sentences: Sequence[Sequence[int]], longest: Sequence[int]
) -> Activations:
    """Translate sentences greedily, and return the inputs of every matrix."""
    recorded = Activations()
    watched = FirefoxReference(model.items, model.layers, model.heads, recorded)
    for ids, most in zip(sentences, longest, strict=True):
        watched.greedy(ids, most)
    return recorded


def quantise(items: Mapping[str, Floats], seen: Activations) -> Int8:
    """Return a model in int8.

    Args:
        items: its parameters in float32.
        seen: inputs of its matrices.
    """
    parameters: dict[str, Item] = dict(items)
    limits, saturated = {}, {}
    for name in items:
        if not (name == OUTPUT or "_W" in name) or "_ln_" in name:
            continue
        multiplier, rows = seen.multiplier(name), seen.rows(name)
        counts = {}
        for limit in LIMITS:
            matrix = Quantized.of(items[name], limit)
            first, rest = rows[:FIRST], rows[FIRST:]
            counts[limit] = saturation(matrix, first, multiplier, turned=name == OUTPUT)
            if not counts[limit] and len(rest):
                counts[limit] = saturation(matrix, rest, multiplier, turned=name == OUTPUT)
            if not counts[limit]:
                break
        parameters[name], limits[name] = matrix, limit
        if counts[LIMITS[0]]:
            saturated[name] = counts[LIMITS[0]]
        parameters[name + ALPHA] = np.array([multiplier], np.float32)
    parameters[NONE] = parameters[OUTPUT + ALPHA]
    return Int8(parameters, limits, saturated)


def saturation(matrix: Quantized, rows: Floats, multiplier: np.float32, *, turned: bool) -> float:
    """The fraction of pairs of products whose sum saturates.

    Args:
        matrix: weights, (K, N), or (N, K) if ``turned``.
        rows: inputs, (any, K).
        multiplier: the inputs' multiplier.
        turned: whether the matrix is stored transposed.
    """
    weights = (matrix.values.T if turned else matrix.values).astype(np.int32)
    first, second = weights[0::2], weights[1::2]
    # The largest absolute sums that inputs of 0 to 254 can give.
    above, below = (np.maximum(first * sign, 0) + np.maximum(second * sign, 0) for sign in (1, -1))
    most = 2 * SHIFT * np.maximum(above, below)
    pairs, columns = np.nonzero(most > LARGEST)
    if not len(pairs):
        return 0.0
    inputs = (np.clip(np.rint(rows * multiplier), -SHIFT, SHIFT) + SHIFT).astype(np.int32)
    w_1, w_2, count = first[pairs, columns], second[pairs, columns], 0
    for start in range(0, len(inputs), BLOCK):
        block = inputs[start : start + BLOCK]
        for some in range(0, len(pairs), PAIRS):
            part = slice(some, some + PAIRS)
            sums = block[:, 2 * pairs[part]] * w_1[part] + block[:, 2 * pairs[part] + 1] * w_2[part]
            count += int((np.abs(sums) > LARGEST).sum())
    return count / (len(inputs) * first.size)
