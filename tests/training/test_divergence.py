"""A training that diverges says so, keeps the best weights and exits with an error."""

import json
from pathlib import Path

import pytest

from multihead.cli import main
from multihead.training.progress import IntervalMetrics, TrainingProgress
from multihead.training.update import UpdateStats

SMALL = {
    "tokenizer.kind": "chars",
    "model.d_model": 14,
    "model.d_ff": 22,
    "model.num_heads": 2,
    "model.num_layers": 1,
    "training.steps": 8,
    "training.batch_tokens": 211,
    "training.warmup_steps": 4,
    "training.schedule": "inverse_sqrt",
    "training.final": "last",
    "training.threads": 1,
    "training.log_every": 2,
    "validation.every": 2,
    "validation.max_examples": 3,
    "validation.samples": 1,
    "search.method": "greedy",
    "search.max_extra": 2,
}


def train(folder: Path, rate: str) -> int:
    for side, shift in (("de", 0), ("en", 1)):
        lines = [f"{'abcdefg'[(i + shift) % 7]} {'hijkl'[(i + shift) % 5]}{i % 11}\n" for i in range(101)]
        (folder / f"a.{side}").write_text("".join(lines))
    keys = [part for key, value in SMALL.items() for part in (f"--{key}", str(value))]
    files = ["--src", str(folder / "a.de"), "--tgt", str(folder / "a.en"), "--run", str(folder / "run")]
    return main(["train", *files, *keys, "--training.learning_rate", rate])


def test_a_training_that_diverges_is_an_error_and_keeps_the_best_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert train(tmp_path, "1e6") == 2
    captured = capsys.readouterr()
    (error,) = [line for line in captured.err.splitlines() if line.startswith("multihead: ")]
    assert "the training diverged: its loss was" in error
    assert "Lower training.learning_rate" in error
    assert "diverged within 8 steps" in captured.out
    assert "best weights" in captured.out, "though training.final names the last"
    assert sum("the training diverges" in message for message in caplog.messages) == 1
    assert all(len(word) < 20 for word in captured.out.split() if word.replace(",", "").isdigit())
    events = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert events[-1]["event"] == "end"
    assert events[-1]["diverged"] is True
    assert train(tmp_path, "1e6") == 2, "the same when it is started again"


def test_a_training_that_learns_slowly_has_not_diverged(tmp_path: Path) -> None:
    assert train(tmp_path, "1e-9") == 0


@pytest.mark.parametrize(
    ("first", "later", "diverged"),
    [
        (8.7, 8.7, False),
        (8.7, 17.0, False),
        (8.7, 17.5, True),
        (8.7, float("inf"), True),
        (8.7, float("nan"), True),
        (0.1, 3.0, False),  # a fine-tuned model on a hard batch
        (0.1, 3.2, True),
        (-5.0, 9.0, False),  # the logarithm of a density
    ],
)
def test_divergence_is_judged_by_the_first_updates_loss(first: float, later: float, diverged: bool) -> None:
    progress = TrainingProgress()
    progress.add_finished([UpdateStats({"loss": 7 * first}, {"loss": 7}, 1.0)])
    assert not progress.diverged
    progress.unlogged = IntervalMetrics()
    progress.add_finished([UpdateStats({"loss": 11 * later}, {"loss": 11}, 1.0)])
    assert progress.diverged is diverged
    assert TrainingProgress.from_dict(progress.to_dict()).diverged is diverged
