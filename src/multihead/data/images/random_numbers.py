"""Random numbers for augmenting an image, a function of (seed, epoch, index).

So a resumed training augments an image in the same way, independent of the other images of a batch.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multihead.system import randomness

Uniforms = NDArray[np.float64]
"""Uniform random numbers in [0, 1), (B, N)."""


def uniforms(seed: int, epoch: int, indices: Sequence[int], count: int) -> Uniforms:
    """Return ``count`` uniform random numbers in [0, 1) for each image, (B, count).

    NumPy keeps only the raw output of a bit generator stable between versions (NEP 19).
    """
    raw = [
        np.random.PCG64(randomness.derive(seed, "image", epoch, index)).random_raw(count) for index in indices
    ]
    bits = np.array(raw, dtype=np.uint64) >> np.uint64(11)
    values: Uniforms = bits.astype(np.float64) * 2.0**-53
    return values


class Uniform:
    """Uniform random numbers from raw bits, which NumPy keeps stable between versions (NEP 19)."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def between(self, low: float, high: float, *shape: int) -> NDArray[np.float64]:
        """Return numbers from ``low`` to ``high``, in an array of this shape."""
        raw = np.asarray(self._bits.random_raw(int(np.prod(shape))), dtype=np.uint64)
        return low + (high - low) * (raw >> np.uint64(11)).astype(np.float64).reshape(shape) * 2.0**-53

    def number(self, low: float, high: float) -> float:
        """Return one number from ``low`` to ``high``."""
        return float(self.between(low, high, 1)[0])

    def below(self, count: int) -> int:
        """Return an integer from 0 to ``count`` - 1."""
        return min(count - 1, int(self.number(0, count)))


def beta(u_BN: Uniforms, alpha: float) -> NDArray[np.float64]:
    """Return samples of Beta(alpha, alpha), 0 < alpha <= 1, each from N uniform numbers (N even); (B,).

    Jöhnk 1964: accept the first pair x = u^(1/alpha), y = v^(1/alpha) with x + y <= 1, and return
    x / (x + y). All pairs are rejected less than once in 2^(N / 2) times; the sample is then 1/2.
    """
    powers = np.maximum(u_BN, 1e-300) ** (1 / alpha)
    first, second = powers[:, 0::2], powers[:, 1::2]
    total = first + second
    fits = (total <= 1) & (total > 0)
    columns = fits.argmax(axis=1)
    rows = np.arange(len(u_BN))
    share = first[rows, columns] / np.where(total[rows, columns] > 0, total[rows, columns], 1)
    return np.where(fits.any(axis=1), share, 0.5)
