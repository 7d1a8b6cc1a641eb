"""The benchmark of the paper's Table 1: its layers and path lengths are correct."""

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from multihead.nn import attention, masks

FILE = Path(__file__).parents[2] / "benchmarks" / "complexity.py"
spec = importlib.util.spec_from_file_location("complexity", FILE)
assert spec is not None
assert spec.loader is not None
complexity: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(complexity)

KINDS = {kind.name: kind for kind in complexity.KINDS}


@pytest.mark.parametrize("n", [1, 16, 17, 101])
def test_restricted_attention_is_attention_with_a_window(n: int) -> None:
    x = torch.randn(3, n, 7)
    expected = attention(x, x, x, masks.window(n, complexity.R)[0, 0])
    assert_close(complexity.restricted(7)(x), expected)


@pytest.mark.parametrize("n", [2, 19, 40])
def test_path_lengths_are_those_of_the_connections(n: int) -> None:
    lengths = {name: complexity.path_length(kind, n) for name, kind in KINDS.items()}
    assert lengths == {
        "self-attention": 1,
        "recurrent": n - 1,
        "convolutional": math.ceil((n - 1) / (complexity.K // 2)),
        "self-attention (restricted)": math.ceil((n - 1) / (complexity.R // 2)),
    }


@pytest.mark.parametrize("n", [2, 19, 40])
def test_dilated_kernels_reach_every_position_in_a_logarithm_of_layers(n: int) -> None:
    assert complexity.dilated_path_length(n) == math.ceil(math.log(n, complexity.K))


def test_the_memory_of_attention_grows_quadratically_and_of_others_linearly() -> None:
    sizes = [128, 256, 512]

    def growth(name: str) -> float:
        kept = [complexity.kept_bytes(KINDS[name].make(8), n, 8) for n in sizes]
        slope: float = complexity.exponent(sizes, kept)
        return slope

    assert growth("self-attention") > 1.8
    assert all(growth(name) == pytest.approx(1, abs=0.2) for name in KINDS if name != "self-attention")


def test_the_exponent_of_a_power_law_is_recovered() -> None:
    assert complexity.exponent([2, 4, 8], [12.0, 48.0, 192.0]) == 2.0


def test_all_results_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    complexity.main(out=tmp_path, lengths=(16, 32), widths=(4, 8), least=0.0)
    results = json.loads((tmp_path / "complexity.json").read_text())
    assert [layer["name"] for layer in results["layers"]] == list(KINDS)
    assert (tmp_path / "complexity.md").read_text() == capsys.readouterr().out
    assert "<svg" in (tmp_path / "complexity.svg").read_text()
    complexity.main(out=tmp_path / "again", times_from=tmp_path / "complexity.json")
    assert json.loads((tmp_path / "again" / "complexity.json").read_text()) == results
