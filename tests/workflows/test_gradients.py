"""The vanishing gradient by distance: its measurement and its command."""

import json
from pathlib import Path

import pytest
import torch

from multihead.apps.studies import gradients
from multihead.apps.studies.gradients import (
    LAYERS,
    MEASURED,
    SYMBOLS,
    SymbolModel,
    curves,
    gradient,
    sequences,
)
from multihead.cli import main

D = 16


def test_a_sequence_is_a_symbol_and_then_noise() -> None:
    ids, first = sequences(11, 7)
    assert ids.shape == (11, 8)
    assert torch.equal(ids[:, 0], first)
    assert (first < SYMBOLS).all()
    assert (ids[:, 1:] >= SYMBOLS).all()


@pytest.mark.parametrize("name", LAYERS)
def test_the_measured_gradient_is_the_change_of_the_logit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "MEASURED", 1)
    torch.manual_seed(3)
    model = SymbolModel(LAYERS[name](D), D).double()
    torch.manual_seed(5)
    found, _ = gradient(model, 5)
    torch.manual_seed(5)
    ids, first = sequences(1, 5)
    x = model.embedding(ids).detach()
    slope = torch.zeros(D, dtype=torch.float64)
    for place in range(D):
        step = torch.zeros_like(x)
        step[0, 0, place] = 1e-6
        up, down = (model(x + sign * step)[0, first[0]] for sign in (1, -1))
        slope[place] = (up - down) / 2e-6
    assert found == pytest.approx(slope.norm().item(), rel=1e-5)
    assert MEASURED == 256


def test_the_gradient_of_attention_vanishes_far_more_slowly() -> None:
    found = {curve.layer: curve for curve in curves(1, (1, 8, 64), d=D, updates=1)}
    assert all(curve.untrained[0] == 1 for curve in found.values())
    assert found["attention"].untrained[2] > 1e3 * found["lstm"].untrained[2]
    assert found["lstm"].untrained[2] > 1e3 * found["rnn"].untrained[2]


def test_the_command_writes_table_plot_and_numbers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "g"
    given = ["--longest", "4", "--seeds", "2", "--updates", "3", "--width", "8"]
    assert main(["gradients", "-o", str(folder), *given]) == 0
    out = capfd.readouterr().out
    assert "attention, seed 2: " in out
    made = json.loads((folder / "gradients.json").read_text())
    assert made["distances"] == [1, 2, 4]
    assert [(one["layer"], one["seed"]) for one in made["layers"]] == [(n, s) for n in LAYERS for s in (1, 2)]
    assert (folder / "gradients.svg").read_text().count("<svg") == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--longest", "100"], "100 is not a power of 2 from 2 to 4,096"),
        (["--longest", "-2"], "not a power of 2"),
        (["--width", "12"], "12 is not a multiple of 8"),
        (["--seeds", "0"], "--seeds 0. Give at least 1."),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    given: list[str], said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["gradients", "-o", str(tmp_path / "g"), *given]) == 2
    assert said in capfd.readouterr().err
    assert not (tmp_path / "g").exists()
