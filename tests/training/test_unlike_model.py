"""The loop trains a recurrent model unchanged: it needs only ``loss(batch, step)``."""

from pathlib import Path

import pytest
import torch
from backwards import V, contents, fit, mean_loss, pairs_of, strings, training_in
from gru import Gru

from multihead.run import Run


def recurrent() -> Gru:
    torch.manual_seed(5)
    return Gru(V, V)


def test_it_learns(tmp_path: Path) -> None:
    held_out = pairs_of(strings(31, 9, seed=2))
    before = mean_loss(recurrent(), held_out)
    outcome = fit(
        training_in(tmp_path, recurrent(), settings={"learning_rate": 0.02, "schedule": "constant"})
    )
    assert outcome.metrics is not None
    assert outcome.metrics["loss"] < before - 0.3
    assert [event["event"] for event in Run(tmp_path).metrics()].count("validation") == 4


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_it_resumes_to_the_same_bytes(tmp_path: Path, precision: str) -> None:
    settings: dict[str, object] = {"precision": precision, "ema": 0.9, "final": "average"}
    fit(training_in(tmp_path / "whole", recurrent(), settings=settings))
    for steps in (10, 20):
        fit(training_in(tmp_path / "parts", recurrent(), settings=settings | {"steps": steps}))
    whole, parts = contents(tmp_path / "whole"), contents(tmp_path / "parts")
    assert {name for name in whole if whole[name] != parts[name]} == {"events"}
