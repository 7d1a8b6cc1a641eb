"""The training benchmark against other toolkits: all train the same model on the same tokens."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "peers" / "training.py"
NAMES = ["without native kernels", "Hugging Face fp32", "Hugging Face fp32, memory kept"]


def run(folder: Path, rounds: int, *more: str) -> subprocess.CompletedProcess[str]:
    options = {"tokens": 61, "count": 2, "rounds": rounds, "threads": 1, "out": "out.json"}
    command = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    command += ["--precisions", "fp32", *(more if "--only" in more else ("--only", *NAMES, *more))]
    return subprocess.run([sys.executable, FILE, *command], cwd=folder, capture_output=True, text=True)


@pytest.mark.long
def test_a_round_against_hugging_face(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    done = run(tmp_path, 1, "--sizes", "tiny", "rnn-tiny")
    assert done.returncode == 0, done.stderr
    assert "numbers of parameters differ" not in done.stderr
    results = json.loads((tmp_path / "out.json").read_text())
    assert results["settings"]["models"]["tiny"]["vocab"] == 101
    rows = results["measured"]["tiny"]["1"]
    assert list(rows) == NAMES
    assert list(results["measured"]["rnn-tiny"]["1"]) == NAMES[:1]  # only who has an LSTM
    assert len({row["parameters"] for row in rows.values()}) == 1
    ours, theirs, _ = rows.values()
    expected = theirs["seconds"][0] / ours["seconds"][0]
    assert theirs[f"{NAMES[0]}: times as fast"]["seconds"] == pytest.approx([expected] * 3)
    assert all(4 < loss < 6 for row in rows.values() for loss in row["losses"])  # ln 101 = 4.6
    assert all(100 < row["peak_mib"] < 2000 for row in rows.values())
    assert all(name in done.stdout for name in NAMES)
    kept = results["settings"]["contestants"][2]["variables"]
    assert kept["MALLOC_TRIM_THRESHOLD_"] == str(2**31 - 1)

    again = run(tmp_path, 1, "--sizes", "tiny", "rnn-tiny")  # nothing is left to measure
    assert again.returncode == 0
    assert not again.stdout
    assert json.loads((tmp_path / "out.json").read_text()) == results
    other = run(tmp_path, 2, "--sizes", "tiny", "rnn-tiny")
    assert other.returncode
    assert "has another settings" in other.stderr


@pytest.mark.long
def test_an_interrupted_measurement_resumes_with_the_missing_rounds(tmp_path: Path) -> None:
    ours = ("--sizes", "tiny", "--only", NAMES[0])
    assert run(tmp_path, 2, *ours).returncode == 0
    file = tmp_path / "out.json"
    results = json.loads(file.read_text())
    for row in results["measured"]["tiny"]["1"].values():
        row["seconds"], row["cpu"], row["losses"] = row["seconds"][:1], row["cpu"][:1], row["losses"][:2]
    file.write_text(json.dumps(results))
    assert run(tmp_path, 2, *ours).returncode == 0
    resumed = json.loads(file.read_text())["measured"]["tiny"]["1"]
    for name, row in resumed.items():
        assert len(row["seconds"]) == 2
        assert row["seconds"][0] == results["measured"]["tiny"]["1"][name]["seconds"][0]
