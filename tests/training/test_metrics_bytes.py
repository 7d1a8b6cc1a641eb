"""metrics.jsonl of a resumed training has the bytes of an uninterrupted one, but for the time fields."""

import re
from pathlib import Path

from backwards import Silent, fit, training_in

TIMES = re.compile(rb'"(seconds|tokens_per_second|eta_seconds|crc32)": ("[0-9a-f]{8}"|[0-9.e+-]+|null)')


class StopsAfter(Silent):
    """Ends the training as an error does, after any update."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def on_step(self, step: int) -> None:
        if step == self.step:
            raise KeyboardInterrupt


def without_times(path: Path) -> bytes:
    return TIMES.sub(rb'"\1": 0', path.read_bytes())


def test_metrics_of_a_resumed_run_are_the_same_bytes_but_for_the_times(tmp_path: Path) -> None:
    settings: dict[str, object] = {"log_every": 7, "steps": 22, "save_minutes": 1e-9}
    fit(training_in(tmp_path / "whole", settings=settings))
    for step in (2, 11):
        training = training_in(tmp_path / "parts", settings=settings, observer=StopsAfter(step))
        try:
            fit(training)
        except KeyboardInterrupt:
            continue
    fit(training_in(tmp_path / "parts", settings=settings))
    whole = without_times(tmp_path / "whole" / "metrics.jsonl")
    assert b'"loss"' in whole
    assert whole.count(b"\n") > 5
    assert without_times(tmp_path / "parts" / "metrics.jsonl") == whole


def test_only_times_are_left_out_of_the_comparison() -> None:
    line = b'{"step": 3, "loss": 1.5, "seconds": 0.25, "eta_seconds": null, "crc32": "0123abcd"}'
    assert (
        TIMES.sub(rb'"\1": 0', line)
        == b'{"step": 3, "loss": 1.5, "seconds": 0, "eta_seconds": 0, "crc32": 0}'
    )
