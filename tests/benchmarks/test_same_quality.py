"""The benchmark of learning curves: windows and distances."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "same_quality.py"
spec = importlib.util.spec_from_file_location("same_quality", FILE)
assert spec is not None
assert spec.loader is not None
same_quality: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(same_quality)
WINDOW: int = same_quality.WINDOW


def test_losses_are_means_of_windows(tmp_path: Path) -> None:
    steps = range(50, 2 * WINDOW + 1, 50)
    events = [{"event": "update", "step": step, "loss": step / 100} for step in steps]
    events.insert(3, {"event": "validation", "step": 150, "loss": 1000.0})
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    first, second = (sum(s / 100 for s in steps if low < s <= low + WINDOW) / 4 for low in (0, WINDOW))
    assert same_quality.losses(tmp_path / "metrics.jsonl") == {
        str(WINDOW): pytest.approx(first),
        str(2 * WINDOW): pytest.approx(second),
    }


def test_distances_are_in_nats_and_signed_where_one_curve_is_lower() -> None:
    found = same_quality.distance({"200": 3.0, "400": 2.0, "600": 1.5}, {"200": 3.5, "400": 1.75, "800": 1.0})
    assert found == {"largest": 0.5, "mean": 0.375, "signed": -0.125, "last": 0.25}
