"""The training benchmark against other toolkits: all train the same model on the same tokens."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "peers" / "training.py"


def test_a_round_against_hugging_face(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    names = ["without native kernels", "Hugging Face fp32"]
    options = {"tokens": 61, "count": 2, "rounds": 1, "threads": 1, "out": "out.json"}
    command = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    done = subprocess.run(
        [sys.executable, FILE, *command, "--sizes", "tiny", "rnn-tiny", "--only", *names],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "numbers of parameters differ" not in done.stderr
    results = json.loads((tmp_path / "out.json").read_text())
    assert results["settings"]["models"]["tiny"]["vocab"] == 101
    rows = results["measured"]["tiny"]
    assert list(rows) == names
    assert list(results["measured"]["rnn-tiny"]) == names[:1]  # the others have no LSTM translator
    assert len({row["parameters"] for row in rows.values()}) == 1
    ours, theirs = rows.values()
    expected = theirs["seconds"][0] / ours["seconds"][0]
    assert theirs[f"{names[0]}: times as fast"]["seconds"] == pytest.approx([expected] * 3)
    assert all(4 < loss < 6 for row in rows.values() for loss in row["losses"])  # ln 101 = 4.6
    assert all(100 < row["peak_mib"] < 2000 for row in rows.values())
    assert all(name in done.stdout for name in names)
