"""Several processes train a changed layer as one does, or refuse it with a reason."""

import os
from pathlib import Path
from typing import Any

import layers_in_ranks
import pytest
from ranks import Ranks

from multihead.system import plugins
from multihead.workflows import launching

MODULE = Path(layers_in_ranks.__file__)
WORLD = 2


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outside") / "mine.py"
    path.write_text("from multihead.models.transformer import Model, Settings\n")
    return path


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, model_file: Path) -> list[Any]:
    """The results of two processes, which are started once for all tests of this file."""
    given = {"TEST_FOLDER": str(tmp_path_factory.mktemp("ranks")), "TEST_MODEL": str(model_file)}
    ranks = Ranks(MODULE, "all_of_them", WORLD, *(given,) * WORLD)
    results = ranks.results()
    assert all(isinstance(result, dict) for result in results), ranks.errors
    return results


@pytest.mark.parametrize("sharded", [False, True])
def test_parameters_of_two_formats_are_trained_as_by_one_process(
    found: list[Any], sharded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_FOLDER", str(tmp_path))
    name = "lora, sharded optimiser" if sharded else "lora"
    assert [result[name] for result in found] == [layers_in_ranks.trained(layers_in_ranks.Lora)] * WORLD


@pytest.mark.parametrize("name", ["centred", "centred, divided weights"])
def test_a_buffer_that_follows_the_batches_of_a_process_is_named(found: list[Any], name: str) -> None:
    for result in found:
        assert "process 0 in the buffer encoder.layers.0.feed_forward.mean" in result[name]


def test_a_weight_of_another_shape_is_named(found: list[Any]) -> None:
    fact = "the shape of encoder.layers.0.feed_forward.gain ([25], in process 0 [24])"
    assert all(fact in result["wider"] for result in found)


def test_a_model_file_that_the_first_process_names_is_named_in_all(
    found: list[Any], model_file: Path
) -> None:
    assert [result["named"] for result in found] == [plugins.name_file(model_file)] * WORLD


def test_processes_of_one_command_may_execute_the_files_that_it_names(
    model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(launching, "_run", lambda processes, command: {})
    plugins.name_file(model_file)
    assert launching.launch(WORLD, ["train"], print) == 0
    assert str(model_file) in os.environ[plugins.VARIABLE].split(os.pathsep)
