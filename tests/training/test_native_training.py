"""Training with native kernels: the same losses as in plain PyTorch, and exact resume."""

from pathlib import Path

import pytest
import torch
from backwards import Silent, contents, fit, small_transformer, training_in

from multihead.system import native

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the native kernels were not compiled")


def losses(folder: Path, level: str, dropout: float, precision: str = "fp32") -> torch.Tensor:
    """The loss of each of 20 updates."""
    model = small_transformer(dropout=dropout, norm="pre" if dropout else "post")
    observer = Silent()
    settings: dict[str, object] = {"log_every": 1, "precision": precision}
    with native.use(level):
        fit(training_in(folder, model, observer=observer, settings=settings))
    assert len(observer.updates) == 20
    return torch.tensor([event["loss"] for event in observer.updates])


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_without_dropout_the_losses_are_those_of_plain_pytorch(tmp_path: Path, precision: str) -> None:
    plain = losses(tmp_path / "plain", "", 0.0, precision)
    for level in native.LEVELS:
        difference = losses(tmp_path / level, level, 0.0, precision) - plain
        assert difference.abs().max() < {"fp32": 1e-4, "bf16": 0.05}[precision]
    assert plain[-1] < plain[0]


def test_int8_losses_are_close_to_those_of_plain_pytorch(tmp_path: Path) -> None:
    plain = losses(tmp_path / "plain", "", 0.0)
    for level in native.LEVELS:
        int8 = losses(tmp_path / level, level, 0.0, "int8")
        assert 0 < (int8 - plain).abs().max() < 0.05


def test_with_dropout_the_losses_agree_within_chance(tmp_path: Path) -> None:
    plain = losses(tmp_path / "plain", "", 0.3)
    assert (losses(tmp_path / "native", native.LEVELS[0], 0.3) - plain).mean().abs() < 0.1


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_resumed_run_with_native_kernels_ends_as_an_uninterrupted_one(
    tmp_path: Path, precision: str
) -> None:
    def train(name: str, steps: int) -> None:
        model = small_transformer(attention_dropout=0.1, activation_dropout=0.1)
        settings: dict[str, object] = {"steps": steps, "log_every": 1, "precision": precision}
        fit(training_in(tmp_path / name, model, settings=settings))

    train("whole", 20)
    train("parts", 10)
    train("parts", 20)
    whole, parts = contents(tmp_path / "whole"), contents(tmp_path / "parts")
    assert {name for name in parts if parts[name] != whole.get(name)} == {"events"}
