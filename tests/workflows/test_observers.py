"""A training's numbers in TensorBoard, MLflow and Weights & Biases; a failing observer stops nothing."""

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from made_up_pairs import translated
from watching import Silent

from multihead.cli import main
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.workflows.observers import RECORDERS, Observed, recorders
from multihead.workflows.resolve_recipe import resolve_recipe
from multihead.workflows.train import train

TINY = {
    **{"model.d_model": 8, "model.d_ff": 8, "model.num_layers": 1, "model.num_heads": 2},
    **{"training.steps": 7, "training.threads": 1, "training.batch_tokens": 307, "training.log_every": 3},
    **{"validation.every": 5, "search.beam_size": 1, "training.precision": "fp32"},
}


class Kept:
    """A recorder that keeps everything, and fails if asked to."""

    def __init__(self, fails: str = "") -> None:
        self.fails, self.settings = fails, dict[str, object]()
        self.numbers: list[tuple[int, Mapping[str, float]]] = []
        self.closed = 0

    def start(self, settings: Mapping[str, object], step: int) -> None:
        self.settings = dict(settings)

    def record(self, step: int, numbers: Mapping[str, float]) -> None:
        if self.fails:
            raise OSError(self.fails)
        self.numbers.append((step, numbers))

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    chance = random.Random(3)
    file = tmp_path / "pairs.tsv"
    file.write_text("".join("\t".join(translated(chance)) + "\n" for _ in range(211)), encoding="utf-8")
    return file


@pytest.fixture
def recipe(corpus: Path) -> Recipe[Settings]:
    given = {**TINY, "data.cache": str(corpus.parent / "cache")}
    return resolve_recipe(None, {"source": (str(corpus),)}, given, run=None, init=None)


def test_a_recorder_receives_what_the_journal_has(recipe: Recipe[Settings], tmp_path: Path) -> None:
    kept, run = Kept(), tmp_path / "run"
    observed = Observed(Silent(), [kept])
    train(recipe, run, observed)
    observed.close()
    assert kept.settings["training.steps"] == 7
    events = list(Run.open(run).metrics())
    losses = {event["step"]: event["loss"] for event in events if event["event"] == "update"}
    assert {step: n["training/loss"] for step, n in kept.numbers if "training/loss" in n} == losses
    assert {step for step, n in kept.numbers if "validation/bleu" in n} == {5}
    assert kept.closed == 1


def test_a_failing_recorder_is_left_out_and_changes_no_byte(recipe: Recipe[Settings], tmp_path: Path) -> None:
    train(recipe, tmp_path / "plain", Silent())
    kept = Kept(fails="the server is gone")
    with pytest.warns(UserWarning, match="Kept failed .*OSError: the server is gone"):
        train(recipe, tmp_path / "run", Observed(Silent(), [kept]))
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("plain", "run")]
    assert files[0] == files[1]
    assert kept.closed == 1


def test_an_unknown_observer_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such observer: tensorbord") as caught:
        recorders(["tensorbord"], tmp_path)
    assert str(caught.value.remedy) == f"One of: {', '.join(RECORDERS)}."


def trained(corpus: Path, name: str) -> int:
    options = [word for key, value in TINY.items() for word in (f"--{key}", str(value))]
    cache = ["--data.cache", str(corpus.parent / "cache")]
    run = str(corpus.parent / "runs" / "one")
    return main(["train", "--src", str(corpus), "--run", run, "--observe", name, *options, *cache])


def test_tensorboard_reads_the_numbers(corpus: Path) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert trained(corpus, "tensorboard") == 0
    events = reader.EventAccumulator(str(corpus.parent / "runs" / "one.tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("validation/bleu")] == [5]
    assert len(events.Scalars("training/loss")) >= 2


def test_mlflow_has_the_settings_and_the_numbers(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((corpus.parent / "mlruns").as_uri())
    assert trained(corpus, "mlflow") == 0
    (run,) = mlflow.search_runs(output_format="list")
    assert run.data.params["training.steps"] == "7"
    assert "validation/bleu" in run.data.metrics


def test_weights_and_biases_writes_offline(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    assert trained(corpus, "wandb") == 0
    assert list((corpus.parent / "runs" / "wandb").glob("offline-run-*"))
