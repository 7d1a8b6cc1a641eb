"""Ctrl-C and SIGTERM during training."""

import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from backwards import Silent, fit, training_in

from multihead.run import Run
from multihead.training.interrupt import interruptible


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_training_after_the_update_and_saves_its_state(tmp_path: Path, number: int) -> None:
    class Stops(Silent):
        def on_log(self, event: dict[str, Any]) -> None:
            if event["step"] == 6:
                signal.raise_signal(number)

    outcome = fit(training_in(tmp_path, observer=Stops()))
    assert (outcome.status, outcome.progress.step, outcome.weights) == ("interrupted", 6, "")
    run = Run(tmp_path)
    assert run.checkpoints() == ["best", "state-0000000005", "state-0000000006", "weights-0000000005"]
    assert not (tmp_path / "model.safetensors").exists()
    assert training_in(tmp_path).progress.step == 6


def test_a_second_signal_is_not_caught() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as interrupt:
        assert not interrupt.requested
        signal.raise_signal(signal.SIGINT)
        assert interrupt.requested
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) == interrupt.handle
    assert signal.getsignal(signal.SIGINT) is before


def test_training_in_another_thread_catches_no_signals(tmp_path: Path) -> None:
    finished: list[str] = []
    thread = threading.Thread(
        target=lambda: finished.append(fit(training_in(tmp_path, settings={"steps": 2})).status)
    )
    thread.start()
    thread.join()
    assert finished == ["finished"]
