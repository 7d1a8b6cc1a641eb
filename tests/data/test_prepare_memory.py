"""The memory benchmark of data preparation, on a small corpus."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "prepare_memory.py"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_reaching_the_first_batch_takes_little_memory() -> None:
    command = [sys.executable, str(SCRIPT), "--pairs", "3001", "--vocab-size", "1009"]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert "training the tokenizer" in result["stages"]
    assert 0 < result["peak_mib"] < 400
