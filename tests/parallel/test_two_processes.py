"""Two processes train a model to the same bytes as one, and exchange facts without surprises."""

from pathlib import Path
from typing import Any

import in_ranks
import pytest
import torch
from ranks import Ranks

MODULE = Path(in_ranks.__file__)
WORLD = 2


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The results of two processes, which are started once for all tests of this file."""
    folder = tmp_path_factory.mktemp("ranks")
    ranks = Ranks(MODULE, "exchanges", WORLD, *({"TEST_FOLDER": str(folder)},) * WORLD)
    results = ranks.results()
    assert all(isinstance(result, dict) for result in results), ranks.errors
    return results


def test_every_process_receives_every_number(found: list[Any]) -> None:
    assert [result["agreed"] for result in found] == [[[0.0, 2.0**53 - 1], [1.0, 2.0**53 - 1]]] * WORLD


def test_the_first_process_decides(found: list[Any]) -> None:
    assert [result["first"] for result in found] == [{"rank": 0}] * WORLD
    expected = {"a": ["torch.bfloat16", [*map(float, range(7))]], "b": ["torch.int64", 3]}
    assert [result["shared"] for result in found] == [expected] * WORLD


def test_a_difference_between_processes_is_named_by_both(found: list[Any]) -> None:
    fact = "process 1 differs from process 0 in kernels (level 1, in process 0 level 0)"
    assert [result["refused"] for result in found] == [f"{fact}. Use equal machines."] * WORLD


def test_gradients_are_summed_in_the_order_of_the_shards(found: list[Any]) -> None:
    expected = [None if g is None else g.numpy().tobytes().hex() for g in in_ranks.accumulated()]
    for result in found:
        assert result["ordered"]["grads"] == expected
        assert result["ordered"]["terms"] == [[float(shard)] for shard in range(in_ranks.SHARDS)]


def test_the_order_matters_for_these_gradients(found: list[Any]) -> None:
    """Otherwise the test before this one could not fail."""
    ordered, fast = found[0]["ordered"]["grads"], found[0]["fast"]["grads"]
    assert fast != ordered
    for one, other in zip(ordered, fast, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(_floats(one), _floats(other), rtol=1e-5, atol=1e-2)


def test_two_processes_train_the_weights_and_log_the_metrics_of_one(
    found: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_FOLDER", str(tmp_path))
    alone = in_ranks.trained()
    first, other = (result["trained"] for result in found)
    assert first == alone
    assert {**other, "state": {}} == {**alone, "state": {}}
    first, other = (result["sharded"] for result in found)
    assert (first["own"], other["own"]) != (alone["own"], alone["own"])
    assert first["own"] + other["own"] == alone["own"]
    assert {**first, "own": 0} == {**alone, "own": 0}
    assert {**other, "own": 0} == {**alone, "own": 0, "state": {}}


def _floats(hexadecimal: str) -> torch.Tensor:
    return torch.frombuffer(bytearray.fromhex(hexadecimal), dtype=torch.float32)
