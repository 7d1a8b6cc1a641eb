"""The training loop: what it saves and logs, when it stops, which weights it selects."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from backwards import Silent, contents, fit, mean_loss, pairs_of, small_transformer, strings, training_in
from torch import nn

from multihead.batch import PairBatch
from multihead.errors import UserError
from multihead.models.transformer import Transformer
from multihead.nn.losses import Loss
from multihead.run import Run
from multihead.training import Validation


def given_losses(losses: dict[int, float]) -> Any:
    """Return a validation with these losses at these steps."""
    return lambda model, step: Validation({"loss": losses[step]})


# --- saving and logging ---------------------------------------------------------------------------


def test_a_run_keeps_the_model_the_best_and_last_checkpoints_and_states(tmp_path: Path) -> None:
    model = small_transformer()
    untrained = mean_loss(model, pairs_of(strings(31, 9, seed=2)))
    outcome = fit(training_in(tmp_path, model))
    assert (outcome.status, outcome.progress.step) == ("finished", 20)
    assert outcome.metrics is not None
    assert outcome.metrics["loss"] < untrained - 0.3
    # Two are averaged; one more is kept in case the newest state cannot be read.
    states, weights = ["state-0000000015", "state-0000000020"], [f"weights-00000000{n}" for n in (10, 15, 20)]
    assert Run(tmp_path).checkpoints() == ["best", *states, *weights]
    assert (tmp_path / "model.safetensors").is_file()


def test_metrics_have_one_line_per_event(tmp_path: Path) -> None:
    observer = Silent()
    fit(training_in(tmp_path, observer=observer, settings={"steps": 7}))
    events = list(Run(tmp_path).metrics())
    assert [(e["event"], e["step"]) for e in events] == [
        ("update", 3),
        ("validation", 5),
        ("update", 6),
        ("end", 7),
    ]
    assert [e for e in events if e["event"] == "update"] == observer.updates
    assert [e for e in events if e["event"] == "validation"] == observer.validations
    first, second = observer.updates
    assert set(first) >= {"loss", "nll", "accuracy", "rate", "norm", "tokens_per_second", "eta_seconds"}
    assert first["rate"] == pytest.approx(1e-3 * 3 / 7)
    assert second["tokens"] > first["tokens"] > 3 * 50
    assert second["seconds"] > first["seconds"] > 0
    assert (tmp_path / "samples.txt").read_text() == "# step 5\n  at 5\n\n"


def test_validation_runs_in_evaluation_mode_and_without_gradients(tmp_path: Path) -> None:
    calls = []

    def validate(model: nn.Module, step: int) -> Validation:
        calls.append((step, model.training, torch.is_grad_enabled()))
        return Validation({"loss": 1.0})

    model = small_transformer()
    fit(training_in(tmp_path, model, validate=validate, settings={"steps": 11}))
    # At the end: the average, the best, and the last, which is newer than the last scheduled checkpoint.
    assert calls == [(step, False, False) for step in (5, 10, 11, 11, 11)]
    assert model.training


def test_tokens_and_loss_are_those_of_the_data(tmp_path: Path) -> None:
    data, observer = pairs_of(strings(5, 9, seed=1)), Silent()
    model = small_transformer(dropout=0.0)
    expected = mean_loss(model, data)
    settings: dict[str, object] = {"steps": 2, "log_every": 1, "learning_rate": 1e-9, "batch_tokens": 997}
    fit(training_in(tmp_path, model, data, observer=observer, settings=settings))
    tokens = int(data.target_lengths.sum()) + 5
    assert [event["tokens"] for event in observer.updates] == [tokens, 2 * tokens]
    assert [event["epoch"] for event in observer.updates] == [1, 2]
    assert [event["nll"] for event in observer.updates] == pytest.approx([expected, expected], rel=1e-5)


def test_accumulated_batches_are_one_update(tmp_path: Path) -> None:
    observer = Silent()
    fit(training_in(tmp_path, observer=observer, settings={"steps": 2, "log_every": 1, "accumulate": 3}))
    alone = Silent()
    fit(training_in(tmp_path / "alone", observer=alone, settings={"steps": 6, "log_every": 1}))
    assert [event["tokens"] for event in observer.updates] == [alone.updates[n]["tokens"] for n in (2, 5)]


def test_a_finished_run_is_left_unchanged(tmp_path: Path) -> None:
    outcome = fit(training_in(tmp_path))
    before = contents(tmp_path), (tmp_path / "metrics.jsonl").read_bytes()
    again = fit(training_in(tmp_path))
    assert (again.status, again.weights, again.metrics) == (outcome.status, outcome.weights, outcome.metrics)
    assert (contents(tmp_path), (tmp_path / "metrics.jsonl").read_bytes()) == before


# --- early stopping -------------------------------------------------------------------------------


def test_it_stops_early_and_gives_the_reason(tmp_path: Path) -> None:
    losses = {5: 3.0, 10: 2.0, 15: 2.5, 20: 2.0, 25: 2.25}
    settings: dict[str, object] = {"steps": 100, "final": "best"}
    for _ in range(2):
        training = training_in(
            tmp_path, validate=given_losses(losses), settings=settings, validation={"patience": 3}
        )
        outcome = fit(training)
        assert (outcome.status, outcome.progress.step) == ("finished", 25)
        assert outcome.progress.stopped == (
            "early stopping: loss has not improved on 2 (step 10) in 3 validations"
        )
        assert outcome.progress.best_step == 10


def test_without_patience_it_never_stops_early(tmp_path: Path) -> None:
    rising = {step: float(step) for step in (5, 10, 15, 20)}
    outcome = fit(training_in(tmp_path, validate=given_losses(rising)))
    assert (outcome.progress.step, outcome.progress.best_step, outcome.progress.stopped) == (20, 5, "")


def test_any_validation_is_better_than_nan(tmp_path: Path) -> None:
    outcome = fit(
        training_in(tmp_path, validate=given_losses({5: float("nan"), 10: 2.0}), settings={"steps": 10})
    )
    assert (outcome.progress.best, outcome.progress.best_step) == (2.0, 10)


# --- the final weights ----------------------------------------------------------------------------


def weights_of(folder: Path, name: str) -> dict[str, torch.Tensor]:
    return Run(folder).load_tensors(name)[0]


def final_weights(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    run = Run(folder)
    run.checkpoint_folder = folder
    return run.load_tensors("model")


def test_the_final_weights_are_those_of_the_setting(tmp_path: Path) -> None:
    losses = {5: 3.0, 10: 2.0, 15: 2.5, 17: 2.5}
    for final in ("average", "best", "ema", "last"):
        settings: dict[str, object] = {"steps": 17, "final": final, "ema": 0.5}
        folder = tmp_path / final
        outcome = fit(training_in(folder, validate=given_losses(losses), settings=settings))
        assert outcome.weights == final
        assert final_weights(folder)[1] == {"step": 17, "weights": final}
    found = {path.name: final_weights(path)[0] for path in tmp_path.iterdir()}
    state = weights_of(tmp_path / "last", "state-0000000017")
    ten, fifteen = (weights_of(tmp_path / "last", f"weights-00000000{step}") for step in (10, 15))
    for name in ten:
        assert torch.equal(found["best"][name], ten[name])
        assert torch.equal(found["last"][name], state[f"model.{name}"])
        assert torch.equal(found["ema"][name], state[f"ema.{name}"])
        torch.testing.assert_close(found["average"][name], (ten[name] + fifteen[name]) / 2)


def test_validations_that_are_not_selectable_count_neither_as_best_nor_for_patience(tmp_path: Path) -> None:
    def validate(model: nn.Module, step: int) -> Validation:
        return Validation({"loss": 0.0 if step <= 15 else 9.0 - step / 5}, selectable=step > 15)

    training = training_in(
        tmp_path, validate=validate, settings={"steps": 30, "average": 9}, validation={"patience": 2}
    )
    outcome = fit(training)
    assert (outcome.progress.step, outcome.progress.stopped) == (30, "")
    assert (outcome.progress.best, outcome.progress.best_step) == (3.0, 30)
    assert outcome.progress.scheduled == [20, 25, 30]
    assert [event["best"] for event in Run(tmp_path).metrics() if event["event"] == "validation"] == [
        *(False, False, False),
        *(True, True, True),
    ]


def test_a_run_without_a_selectable_validation_keeps_its_last_weights(tmp_path: Path) -> None:
    def validate(model: nn.Module, step: int) -> Validation:
        return Validation({"loss": 0.0}, selectable=False)

    outcome = fit(training_in(tmp_path, validate=validate))
    assert (outcome.weights, outcome.progress.best) == ("last", None)
    assert (tmp_path / "model.safetensors").is_file()


def test_auto_selects_the_weights_that_validate_best(tmp_path: Path) -> None:
    losses: list[float] = []

    def validate(model: nn.Module, step: int) -> Validation:
        # At the end, the order is average, moving average, last, best.
        losses.append({5: 3.0, 10: 2.0, 15: 2.5}.get(step, 0.0) or (1.5, 1.0, 1.2, 2.0)[len(losses) - 3])
        return Validation({"loss": losses[-1]})

    outcome = fit(training_in(tmp_path, validate=validate, settings={"steps": 17, "ema": 0.5}))
    assert (outcome.weights, outcome.metrics) == ("ema", {"loss": 1.0})
    end = list(Run(tmp_path).metrics())[-1]
    assert end["candidates"] == {"average": 1.5, "best": 2.0, "ema": 1.0, "last": 1.2}


def test_the_model_in_memory_keeps_its_last_weights_whichever_are_selected(tmp_path: Path) -> None:
    model = small_transformer()
    fit(training_in(tmp_path, model, settings={"final": "average"}))
    state = weights_of(tmp_path, "state-0000000020")
    assert all(torch.equal(weight, state[f"model.{name}"]) for name, weight in model.state_dict().items())


# --- divergence -----------------------------------------------------------------------------------


class Diverging(Transformer):
    """A model whose loss is NaN from some step on."""

    def loss(self, batch: PairBatch, step: int) -> Loss:
        terms = dict(super().loss(batch, step))
        if step >= 12:
            terms["loss"] = type(terms["loss"])(1.0, terms["loss"].sum * float("nan"), per="tokens")
        return terms


def test_a_loss_of_nan_stops_training_and_saves_nothing(tmp_path: Path) -> None:
    torch.manual_seed(5)
    model = Diverging(small_transformer().settings)
    with pytest.raises(UserError, match=r"diverged: the gradient of update 12 is not finite"):
        fit(training_in(tmp_path, model))
    run = Run(tmp_path)
    assert run.checkpoints() == [
        "best",
        *(f"{kind}-00000000{n}" for kind in ("state", "weights") for n in ("05", "10")),
    ]
    for name in run.checkpoints():
        assert all(tensor.isfinite().all() for tensor in run.load_tensors(name)[0].values())
    assert not (tmp_path / "model.safetensors").exists()
    assert [json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").open()] == [3, 5, 6, 9, 10]


def test_an_absurd_learning_rate_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    settings: dict[str, object] = {"learning_rate": 1e30, "schedule": "constant", "warmup_steps": 0}
    with pytest.raises(UserError, match=r"(?i)lower training\.learning_rate"):
        fit(training_in(tmp_path, settings=settings))
