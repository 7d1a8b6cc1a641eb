"""The training benchmark: it runs, compares equal work, and writes its results."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from multihead.data.batches import Shapes
from multihead.system import hardware, native

FILE = Path(__file__).parents[2] / "benchmarks" / "training_speed.py"
spec = importlib.util.spec_from_file_location("training_speed", FILE)
assert spec is not None
assert spec.loader is not None
training_speed: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(training_speed)


@pytest.mark.long
def test_every_variant_is_measured_against_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    training_speed.main(tmp_path, sizes=("tiny",), tokens=61, count=1, rounds=2, threads=1)
    found = json.loads((tmp_path / "bench-training.json").read_text())
    rows = found["measured"]
    fast = hardware.has_fast_bf16(torch.device("cpu"))
    names = ["eager fp32", "eager bf16"] if fast else ["eager fp32"]
    if native.LEVELS:
        names += ["native bf16" if fast else "native fp32", "native int8"]
    assert [row["variant"] for row in rows] == names
    assert (rows[0]["ratio"], rows[0]["spread"]) == (1.0, [1.0, 1.0])
    for row in rows:
        assert row["spread"][0] <= row["ratio"] <= row["spread"][1]
        assert row["tokens_per_second"] > 0
    assert found["machine"]["threads"] == 1
    assert all(name in capsys.readouterr().out for name in [rows[-1]["variant"]])


def test_batches_are_reproducible_and_of_the_requested_size() -> None:
    first, second = (training_speed.batches("tiny", 997, Shapes(2), 3) for _ in range(2))
    assert [batch.tokens for batch in first] == [batch.tokens for batch in second]
    assert all(900 < batch.tokens <= 997 for batch in first)
    assert all(batch.target_in.shape[1] % 2 == 0 for batch in first)
