"""Random numbers of one picture in one epoch: a function of (seed, epoch, index) and of nothing else.

So a training that was cut off sees the same pictures changed in the same way, and it does not matter which
other pictures share a batch.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multihead import randomness

Uniforms = NDArray[np.float64]
"""(B, how many), from 0 (included) to 1."""


def uniforms(seed: int, epoch: int, indices: Sequence[int], count: int) -> Uniforms:
    """Return ``count`` numbers a picture, uniform in [0, 1); (B, count).

    From raw output of a bit generator, the one thing that NumPy keeps from version to version (NEP 19).
    """
    raw = [
        np.random.PCG64(randomness.derive(seed, "picture", epoch, index)).random_raw(count)
        for index in indices
    ]
    bits = np.array(raw, dtype=np.uint64) >> np.uint64(11)
    values: Uniforms = bits.astype(np.float64) * 2.0**-53
    return values


def beta(u_BN: Uniforms, alpha: float) -> NDArray[np.float64]:
    """Return numbers from Beta(alpha, alpha), 0 < alpha <= 1, made of N uniform ones each (N even); (B,).

    Jöhnk 1964: of pairs (u^(1/alpha), v^(1/alpha)) the first whose sum is at most 1, its first part over
    the sum. That fails less than once in 2^(N / 2) times, and then it is 1/2.
    """
    powers = np.maximum(u_BN, 1e-300) ** (1 / alpha)
    first, second = powers[:, 0::2], powers[:, 1::2]
    total = first + second
    fits = (total <= 1) & (total > 0)
    chosen = fits.argmax(axis=1)
    rows = np.arange(len(u_BN))
    share = first[rows, chosen] / np.where(total[rows, chosen] > 0, total[rows, chosen], 1)
    return np.where(fits.any(axis=1), share, 0.5)
