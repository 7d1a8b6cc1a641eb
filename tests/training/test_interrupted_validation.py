"""A signal during a long validation: saved at once, and the resumed training validates again."""

import signal
import threading
import time
from pathlib import Path

import pytest
from backwards import contents, fit, mean_loss, pairs_of, strings, training_in
from torch import nn

from multihead.training import Validation

HELD_OUT = pairs_of(strings(31, 9, seed=2))


def validate(model: nn.Module, step: int) -> Validation:
    return Validation({"loss": mean_loss(model, HELD_OUT)}, f"at {step}")


class Slow:
    """Validates for a minute at a step, or in a validation of the final weights."""

    def __init__(self, call: int) -> None:
        self.call, self.calls = call, 0

    def __call__(self, model: nn.Module, step: int) -> Validation:
        self.calls += 1
        if self.calls == self.call:
            threading.Timer(0.2, signal.raise_signal, (signal.SIGTERM,)).start()
            until = time.monotonic() + 60
            while time.monotonic() < until:
                time.sleep(0.01)
        return validate(model, step)


@pytest.mark.parametrize(("call", "schedule"), [(2, "wsd"), (5, "inverse_sqrt"), (6, "wsd")])
def test_a_signal_in_a_validation_costs_nothing(tmp_path: Path, call: int, schedule: str) -> None:
    """With validations every 5 of 20 steps, the fifth and sixth are those of the final weights."""
    settings: dict[str, object] = {"schedule": schedule}
    fit(training_in(tmp_path / "whole", validate=validate, settings=settings))
    began = time.monotonic()
    stopped = fit(training_in(tmp_path / "parts", validate=Slow(call), settings=settings))
    assert time.monotonic() - began < 30
    assert (stopped.status, stopped.signal) == ("interrupted", signal.SIGTERM)
    assert stopped.progress.step == min(5 * call, 20)
    assert fit(training_in(tmp_path / "parts", validate=validate, settings=settings)).status == "finished"
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
