"""Plans and permutations on disk equal those in memory, which earlier versions held."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from multihead.data import plan as planning
from multihead.data import statistics
from multihead.data.plan import batch_by_length, epoch_plan
from multihead.data.shuffling import shuffle_indices, shuffled_blocks
from multihead.errors import UserError

OF_EARLIER_VERSIONS = {
    False: "f5ef149d11d416d02ab2a70ce0628357bacfb514d5bd7c72dd8435ee17328498",
    True: "b8a6ee42c00dd1adbc4d0395a351c16505301e9b272e49cdaec6ec736be642b4",
}
"""SHA-256 of a plan by the version that held it in memory; with chosen pairs, and without."""


@given(count=st.integers(0, 301), size=st.integers(1, 40), seed=st.integers(0, 99))
def test_blocks_of_a_permutation_are_those_of_the_whole(count: int, size: int, seed: int) -> None:
    blocks = list(shuffled_blocks(count, seed, "a", 1, size=size))
    assert np.array_equal(np.concatenate(blocks), shuffle_indices(count, seed, "a", 1))
    assert all(len(block) == size for block in blocks[:-1])


def test_equal_draws_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    class Coarse:
        def __init__(self, seed: int) -> None:
            self.number = 0

        def random_raw(self, count: int) -> NDArray[np.uint64]:
            self.number += count
            numbers = np.arange(self.number - count, self.number, dtype=np.uint64)
            return (numbers * np.uint64(5) % np.uint64(7)) << np.uint64(61)

    monkeypatch.setattr(np.random, "PCG64", Coarse)
    assert np.array_equal(np.concatenate(list(shuffled_blocks(97, 1, size=5))), shuffle_indices(97, 1))


@pytest.mark.parametrize("some", [False, True])
def test_a_plan_on_disk_is_that_of_earlier_versions(some: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    n = np.arange(1009, dtype=np.int32) * 7919
    chosen = np.sort(n % 500).astype(np.int64) if some else None
    monkeypatch.setattr(planning, "CHUNK", 37)
    plan = epoch_plan(n % 31, n % 29, 127, 11, 13, chosen=chosen)
    assert hashlib.sha256(b"".join(b.tobytes() + b"|" for b in plan)).hexdigest() == OF_EARLIER_VERSIONS[some]
    in_memory: list[NDArray[np.int64]] = []
    order = shuffle_indices(1009, 11, "pairs of epoch", 13)
    order = order if chosen is None else chosen[order]
    for start in range(0, 1009, 37):
        in_memory += batch_by_length(order[start : start + 37], n % 31, n % 29, 127)
    expected = [in_memory[i] for i in shuffle_indices(len(in_memory), 11, "batches of epoch", 13)]
    assert len(plan) == len(expected)
    assert all(np.array_equal(a, b) for a, b in zip(plan, expected, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(plan[3:-2], expected[3:-2], strict=True))
    assert np.array_equal(plan[-1], expected[-1])
    with pytest.raises(IndexError):
        plan[len(plan)]


def test_temporary_files_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "CHUNK", 37)
    n = np.full(101, 5, dtype=np.int32)
    plan = epoch_plan(n, n, 53, 1, 0, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert sorted(np.concatenate(list(plan)).tolist()) == list(range(101))


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, begin: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(UserError, match="no room for the order of an epoch") as raised:
        list(shuffled_blocks(101, 1, size=7, folder=tmp_path))
    assert raised.value.place == str(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_replaced(tmp_path: Path) -> None:
    assert len(list(shuffled_blocks(101, 1, size=7, folder=tmp_path / "missing"))) == 15


@given(st.lists(st.integers(0, 300), min_size=1, max_size=99), st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values: list[int], which: float) -> None:
    found = statistics.quantiles(np.array(values, dtype=np.int32), [which, 0.5])
    np.testing.assert_allclose(found, np.quantile(values, [which, 0.5]), rtol=1e-9, atol=1e-9)
