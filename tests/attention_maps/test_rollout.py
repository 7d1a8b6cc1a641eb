"""Attention rollout agrees with its definition."""

import numpy as np
import pytest
from numpy.typing import NDArray

from multihead.inspect.maps import rollout

Floats = NDArray[np.float32]


def some_layers(causal: bool = False) -> list[Floats]:
    L, H, N = 3, 2, 5
    rng = np.random.default_rng(7)
    weights = rng.random((L, H, N, N)).astype(np.float32) ** 3
    if causal:
        weights *= np.tri(N, dtype=np.float32)
    return list(weights / weights.sum(axis=-1, keepdims=True))


def by_the_book(layers: list[Floats]) -> list[list[float]]:
    """Compute each input's share in each position, one number at a time."""
    N = layers[0].shape[1]
    have = [[float(i == j) for j in range(N)] for i in range(N)]
    for heads in layers:
        new = []
        for i in range(N):
            row = [sum(float(head[i][j]) for head in heads) / len(heads) + float(i == j) for j in range(N)]
            row = [value / sum(row) for value in row]
            new.append([sum(row[m] * have[m][j] for m in range(N)) for j in range(N)])
        have = new
    return have


@pytest.mark.parametrize("causal", [False, True])
def test_rollout_agrees_with_a_plain_loop(causal: bool) -> None:
    layers = some_layers(causal)
    found = rollout(layers)
    assert len(found) == 3
    for number, after in enumerate(found, start=1):
        np.testing.assert_allclose(after, by_the_book(layers[:number]), atol=1e-6)
        np.testing.assert_allclose(after.sum(axis=1), 1, atol=1e-6)


def test_positions_that_attend_only_to_themselves_keep_their_input() -> None:
    alone = np.eye(5, dtype=np.float32)[None]
    np.testing.assert_array_equal(rollout([alone, alone])[-1], alone[0])


def test_the_residual_connection_counts_for_half() -> None:
    ahead = np.zeros((1, 3, 3), dtype=np.float32)
    ahead[0, :, 2] = 1  # every position attends to the last one
    np.testing.assert_allclose(rollout([ahead, ahead])[-1][0], [0.25, 0, 0.75])
