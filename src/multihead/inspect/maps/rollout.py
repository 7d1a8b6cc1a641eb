"""Attention rollout (Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", sec. 3)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def rollout(layers_HNN: Sequence[Floats]) -> list[Floats]:
    """Return the share of each input position in each position's representation, after every layer.

    A layer's weights W are the mean over its heads. The residual connection contributes the identity:
    A = 0.5 W + 0.5 I with rows normalised. The matrices of the layers are multiplied (eq. 1).

    Args:
        layers_HNN: weights of each layer, first layer first; (H, N, N), rows sum to 1.

    Returns:
        For each layer l the product A_l ... A_1, (N, N); rows sum to 1.
    """
    after: list[Floats] = []
    for weights_HNN in layers_HNN:
        mixed_NN = 0.5 * weights_HNN.mean(axis=0, dtype=np.float64) + 0.5 * np.eye(weights_HNN.shape[1])
        mixed_NN /= mixed_NN.sum(axis=1, keepdims=True)
        after.append((mixed_NN @ after[-1] if after else mixed_NN).astype(np.float32))
    return after
