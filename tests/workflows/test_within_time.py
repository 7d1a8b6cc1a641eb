"""Settings of a training whose time is limited: a table of tokens that the time is enough for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from multihead.recipe import from_toml, with_horizon
from multihead.recipe.settings import TokenizerSettings
from multihead.run import Run
from multihead.tasks.translation.suggest import within_time
from multihead.tasks.translation.suggest.within_time import (
    WIDE,
    is_narrow,
    is_worth_its_time,
    within,
)
from multihead.text.training import train
from multihead.workflows import suggested_recipe
from multihead.workflows.resolve_recipe import resolve_recipe
from multihead.workflows.update_speed import tokens_per_second

LONG = {
    "training.batch_tokens": 4096,
    "training.warmup_steps": 690,
    "training.learning_rate": 4.8e-3,
    "tokenizer.dropout": 0.1,
    "model.dropout": 0.2,
    "validation.every": 115,
}
EPOCH = 472_000.0


@pytest.mark.parametrize(
    ("passes", "wanted"),
    [
        pytest.param(60, {}, id="an hour: as without a limit"),
        pytest.param(
            21, {"training.warmup_steps": 345, "validation.every": 345}, id="ten minutes: few validations"
        ),
        pytest.param(
            5.4,
            {
                "training.batch_tokens": 2048,
                "training.warmup_steps": 177,
                "training.learning_rate": 7.68e-3,
                "training.cooldown": 0.6,
                "tokenizer.dropout": 0.0,
                "model.dropout": 0.1,
                "validation.every": 622,
                "validation.max_examples": 300,
            },
            id="three minutes: small batches, nothing left out",
        ),
    ],
)
def test_the_shorter_the_time_the_less_is_left_out(passes: float, wanted: dict[str, object]) -> None:
    found = within(LONG, passes * EPOCH, EPOCH)
    assert {key: one.value for key, one in found.items()} == wanted


@pytest.mark.parametrize(("width", "passes", "narrow"), [(128, 21, True), (128, 31, False), (256, 21, False)])
def test_a_narrow_model_may_be_widened_for_some_passes(width: int, passes: int, narrow: bool) -> None:
    settings = {**LONG, "model.d_model": width}
    assert is_narrow(settings, passes * EPOCH, EPOCH) == narrow
    values = {key: one.value for key, one in within(settings, passes * EPOCH, EPOCH, widen=True).items()}
    assert values["training.learning_rate"] == 3.36e-3
    assert values["model.num_layers"] == 3
    assert "model.d_model" not in within(settings, passes * EPOCH, EPOCH)


@pytest.mark.parametrize(
    ("narrow", "wide", "worth"), [(1800, 1400, True), (2900, 1500, False), (1500, 1100, False)]
)
def test_a_wider_model_must_make_enough_updates(narrow: int, wide: int, worth: bool) -> None:
    assert is_worth_its_time(1024 * narrow, 1024 * wide) == worth


@pytest.mark.parametrize(("passes", "layers"), [(4, 3), (6, None)])
def test_a_deep_model_is_for_more_passes(passes: int, layers: int | None) -> None:
    deep = {"model.d_model": 256, "model.d_ff": 1024, "model.num_layers": 4}
    values = {key: one.value for key, one in within({**LONG, **deep}, passes * EPOCH, EPOCH).items()}
    assert values.get("model.num_layers") == layers
    assert values["training.learning_rate"] == 7.68e-3


@pytest.mark.parametrize(
    ("epoch", "passes", "dropout"),
    [(EPOCH, 9, 0.1), (EPOCH, 15, None), (1.2e6, 15, 0.1), (1.2e6, 21, None)],
)
def test_less_is_left_out_in_few_passes_over_much_text(
    epoch: float, passes: int, dropout: float | None
) -> None:
    values = {key: one.value for key, one in within(LONG, passes * epoch, epoch).items()}
    assert values.get("model.dropout") == dropout


def test_hardly_any_time_still_gives_valid_settings() -> None:
    found = {key: one.value for key, one in within(LONG, 100.0, EPOCH).items()}
    assert found["training.batch_tokens"] == 1024
    assert found["training.warmup_steps"] == 1


def test_a_resumed_run_keeps_what_the_first_start_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for side in "ab":
        text = "".join(f"{side}{n % 7} {side}{n % 11} {side}{n % 13}\n" for n in range(400))
        (tmp_path / side).write_text(text, encoding="utf-8")
    files = {"source": (str(tmp_path / "a"),), "target": (str(tmp_path / "b"),)}
    run = tmp_path / "run"

    def begun(speed: float) -> Any:
        monkeypatch.setattr(suggested_recipe, "tokens_per_second", lambda *_: speed)
        return resolve_recipe(None, files, {"training.minutes": "1"}, run=run, init=None)

    slow, fast = begun(30.0), begun(50_000.0)
    assert slow.training.warmup_steps < fast.training.warmup_steps
    tokenizer = train(["a0 b0"], TokenizerSettings(kind="chars", vocab_size=300))
    sizes = {"source_vocab": tokenizer.vocab_size, "target_vocab": tokenizer.vocab_size}
    made = replace(with_horizon(slow), model=slow.model.model_copy(update=sizes))
    with Run.create(run, made, [tokenizer], {"data": {}}):
        pass
    for section in ("training", "model", "tokenizer", "validation"):
        assert getattr(begun(50_000.0), section) == getattr(slow, section)


@pytest.mark.parametrize(
    ("key", "value"), [("model.d_model", 64), ("model.num_layers", 2), ("model.d_ff", 96)]
)
def test_a_shape_that_was_typed_in_part_is_not_widened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: int
) -> None:
    monkeypatch.setattr(suggested_recipe, "tokens_per_second", lambda *_: 30.0)
    monkeypatch.setattr(within_time, "ENOUGH", 0)
    for side in "ab":
        text = "".join(f"{side}{n} {side}{n % 11}x {side}{n % 13}y z{n % 7} and\n" for n in range(400))
        (tmp_path / side).write_text(text, encoding="utf-8")
    files = {"source": (str(tmp_path / "a"),), "target": (str(tmp_path / "b"),)}

    def shape(**typed: object) -> dict[str, object]:
        recipe = resolve_recipe(
            None, files, {"training.minutes": "1", **typed}, run=tmp_path / "run", init=None
        )
        return {name: recipe.values()[name] for name in WIDE}

    assert shape() == WIDE
    usual = {"model.d_model": 128, "model.d_ff": 256, "model.num_layers": 3}
    monkeypatch.setattr(
        suggested_recipe, "tokens_per_second", lambda recipe, _: 30.0 if recipe.model.d_model < 256 else 15.0
    )
    assert shape()["model.d_model"] == 128, "half the speed is too slow"
    assert shape(**{key: str(value)}) == {**usual, key: value}


def test_the_speed_is_measured_on_pairs_that_the_model_has_positions_for() -> None:
    given = {"model.d_model": 16, "model.d_ff": 16, "model.num_heads": 2, "tokenizer.vocab_size": 300}
    recipe = from_toml("", overrides={**given, "model.max_positions": 32, "training.threads": 1})
    assert tokens_per_second(recipe, 5000) > 0
