"""Time and memory of each kind of attention: every operation runs, points are kept, exponents are right."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from multihead.apps.studies import attention_cost as cost
from multihead.cli import main
from multihead.nn import attention


@pytest.mark.parametrize("kind", cost.KINDS)
def test_every_operation_is_measured(kind: str) -> None:
    threads = torch.get_num_threads()
    try:
        point = cost.measure(kind, 131, least=0.0)
    finally:
        torch.set_num_threads(threads)
    assert point["seconds"] > 0
    assert point["bytes"] >= 0


@pytest.mark.parametrize("kind", ["window", "longformer", "full (PyTorch's fused kernel)"])
def test_operations_are_attention_where_one_window_covers_the_text(kind: str) -> None:
    q, k, v = (torch.randn(1, cost.HEADS, 47, cost.WIDTH) for _ in range(3))
    torch.testing.assert_close(cost.KINDS[kind](47)(q, k, v), attention(q, k, v), atol=1e-5, rtol=1e-4)


@pytest.mark.long
def test_a_window_needs_less_memory_than_the_square() -> None:
    small, large = (cost._in_a_process(kind, 2048) for kind in ("window", "full (matmul, softmax)"))
    assert 5 * small["bytes"] < large["bytes"], (small, large)


def test_exponents_are_those_of_the_points() -> None:
    points: dict[int, Any] = {n: {"seconds": 1e-6 * n**1.5, "bytes": 30 * n} for n in (1024, 2048, 4096)}
    points |= {256: {"seconds": 9.0, "bytes": 10**9}, 8192: {"skipped": "needs 9 GiB"}}
    assert cost.exponents(points) == {"seconds": 1.5, "bytes": 1.0}
    assert cost.exponents({1024: {"seconds": 1.0, "bytes": 1}}) == {}
    row = cost.table({"window": points}).split("\n")[2]
    assert row.endswith("| n^1.5 | n^1.0 |")
    assert "needs 9 GiB" in row


def test_points_that_are_there_are_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def pretended(kind: str, n: int) -> dict[str, Any]:
        measured.append((kind, n))
        return {"seconds": 0.001 * n, "bytes": n}

    monkeypatch.setattr(cost, "_in_a_process", pretended)
    said: list[str] = []
    cost.measure_all(tmp_path, [3, 5], said.append, ["window", "linear"])
    assert measured == [("window", 3), ("linear", 3), ("window", 5), ("linear", 5)]
    assert said[0] == "window, 3 positions: 3.00 ms, 0.0 MiB"
    cost.measure_all(tmp_path, [3, 7], said.append, ["window", "linear"])
    assert measured[4:] == [("window", 7), ("linear", 7)]
    (tmp_path / cost.RESULT).write_text('{"points": 3}')
    assert cost.read(tmp_path / cost.RESULT) == {}


def test_the_sweep_measures_costs_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost, "_in_a_process", lambda kind, n: {"seconds": 0.001, "bytes": n})
    sweep = tmp_path / "mine.toml"
    sweep.write_text(
        '# Mine.\nrecipe = "long-listops"\n[cost]\nlengths = [37]\n[[members]]\nname = "a"\n',
        encoding="utf-8",
    )
    assert main(["sweep", str(sweep), "--folder", str(tmp_path / "out"), "--costs-only"]) == 0
    assert "window, 37 positions: " in capfd.readouterr().out
    found = json.loads((tmp_path / "out" / "cost.json").read_text())
    assert found["points"].keys() == cost.KINDS.keys()
    assert not (tmp_path / "out" / "table.csv").exists()


def test_lengths_are_checked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sweep = tmp_path / "mine.toml"
    sweep.write_text(
        'recipe = "long-listops"\n[cost]\nlengths = "many"\n[[members]]\nname = "a"\n', encoding="utf-8"
    )
    assert main(["sweep", str(sweep)]) == 2
    assert "lengths must be a list of integers" in capfd.readouterr().err
