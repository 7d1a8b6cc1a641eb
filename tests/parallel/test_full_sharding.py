"""Processes that divide the weights train as one process does, up to rounding, and resume."""

import shutil
from pathlib import Path
from typing import Any

import in_sharded_ranks
import pytest
import torch
from gru import Gru
from in_sharded_ranks import SETTINGS, model, trained
from ranks import Ranks
from torch import nn

from multihead.errors import UserError
from multihead.nn import FeedForward
from multihead.recipe.settings import TrainingSettings
from multihead.run import Run
from multihead.system import parallel
from multihead.training.distributed.full_sharding import refuse_model
from multihead.training.distributed.shards import refuse_settings

WORLD = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run "alone" of one process, and "from one", which one process began."""
    folder = tmp_path_factory.mktemp("sharded")
    trained(folder / "from one", steps=2)
    return folder


@pytest.fixture(scope="module")
def alone(folder: Path) -> dict[str, Any]:
    """Reported by the same training in one process."""
    return trained(folder / "alone")


@pytest.fixture(scope="module")
def found(folder: Path) -> list[Any]:
    """Reported by two processes, which are started once for all tests of this file."""
    given = ({"TEST_FOLDER": str(folder)},) * WORLD
    ranks = Ranks(Path(in_sharded_ranks.__file__), "several", WORLD, *given)
    results = ranks.results(timeout=120)
    assert all(isinstance(result, dict) for result in results), ranks.errors
    return results


def test_losses_and_norms_are_those_of_one_process(found: list[Any], alone: dict[str, Any]) -> None:
    for whole in (result["whole"] for result in found):
        assert whole["outcome"] == alone["outcome"] == ["finished", "ema"]
        for what in ("updates", "validations"):
            torch.testing.assert_close(whole[what], alone[what], rtol=1e-6, atol=1e-6)


def test_each_process_holds_a_part_of_the_weights_and_moments(found: list[Any]) -> None:
    parts = [result["whole"]["held"] for result in found]
    assert sum(parts) == pytest.approx(1)
    assert max(parts) < 0.55


def test_a_run_is_written_as_any_run(found: list[Any], alone: dict[str, Any], folder: Path) -> None:
    runs = [Run(folder / name / "False") for name in ("whole", "alone")]
    (tensors, meta), (expected, expected_meta) = (_state(run) for run in runs)
    assert {n: (t.shape, t.dtype) for n, t in tensors.items()} == {
        n: (t.shape, t.dtype) for n, t in expected.items()
    }
    name = "model.decoder.layers.0.feed_forward.w_2.weight"
    torch.testing.assert_close(tensors[name], expected[name], rtol=0, atol=1e-5)
    assert meta["optimizer"] == expected_meta["optimizer"]
    sizes = {(run.folder / "model.safetensors").stat().st_size for run in runs}
    assert len(sizes) == 1, "tied weights are stored once"


def test_a_resumed_training_ends_with_the_same_bytes(found: list[Any], folder: Path) -> None:
    for result in found:
        assert result["resumed"]["updates"] == result["whole"]["updates"][2:]
    (resumed, _), (whole, _) = (_state(Run(folder / name / "False")) for name in ("resumed", "whole"))
    assert resumed.keys() == whole.keys()
    assert all(torch.equal(tensor, whole[name]) for name, tensor in resumed.items())


def test_another_number_of_processes_resumes_a_run_with_a_warning(
    found: list[Any], alone: dict[str, Any], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(folder / "begun", folder / "to one")
    one = trained(folder / "to one")
    assert "another sum of gradients before (reduce_scatter, 2 processes, now in order)" in caplog.text
    for resumed in (one, found[0]["from one"]):
        torch.testing.assert_close(resumed["updates"], alone["updates"][2:], rtol=1e-6, atol=1e-6)


def test_a_kernel_refuses_a_divided_weight(found: list[Any]) -> None:
    assert [result["kernel"] for result in found] == [
        "native kernels take plain tensors, not DTensor"
    ] * WORLD


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"optimizer": "muon"}, "muon orthogonalises whole matrices"),
        ({"compile": True}, "not compiled"),
        ({"accumulate": 3}, "3 batches an update cannot be divided equally among 2 processes"),
    ],
)
def test_a_setting_that_divided_weights_do_not_have_is_refused(
    changed: dict[str, object], error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "world", lambda: 2)
    refuse_settings(TrainingSettings.model_validate(SETTINGS))
    with pytest.raises(UserError, match=error) as raised:
        refuse_settings(TrainingSettings.model_validate(SETTINGS | changed))
    assert raised.value.place == "training.shard_weights"


def test_a_model_that_cannot_be_divided_is_refused() -> None:
    refuse_model(model())
    with pytest.raises(UserError, match="this model has none"):
        refuse_model(Gru(7, 7))
    other = model()
    other.register_parameter("temperature", nn.Parameter(torch.tensor(1.0)))
    with pytest.raises(UserError, match="temperature is a single number"):
        refuse_model(other)
    mixed = model()
    next(part for part in mixed.modules() if isinstance(part, FeedForward)).bfloat16()
    with pytest.raises(UserError, match=r"several formats \(torch\.bfloat16, torch\.float32\)"):
        refuse_model(mixed)


def _state(run: Run) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    found = run.load_state()
    assert found is not None
    return found
