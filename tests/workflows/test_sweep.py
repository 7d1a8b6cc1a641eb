"""Sweeps of tiny training runs: failure, resuming, the table of results."""

import csv
import io
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from multihead.apps.studies.sweep import (
    Member,
    MemberRow,
    Sweep,
    agreement,
    begun_runs,
    read_sweep,
    run_sweep,
    running,
    to_csv,
    to_html,
)
from multihead.apps.studies.sweep.member import result_of, run_member
from multihead.errors import UserError

Make = Callable[..., Sweep]

RECIPE = """
[data]
dir = "{corpus}"
source = "train.de"
target = "train.en"
tests.held_out = ["train.de", "train.en"]
[tokenizer]
kind = "chars"
[model]
kind = "transformer"
d_model = 14
d_ff = 22
num_heads = 2
num_layers = 1
[training]
steps = 4
batch_tokens = 1511
warmup_steps = 3
threads = 1
device = "cpu"
[validation]
every = 2
max_examples = 11
[search]
method = "greedy"
max_length = 3
"""


class Watching:
    def __init__(self) -> None:
        self.states: list[tuple[str, str]] = []

    def on_change(self, row: MemberRow, rows: Sequence[MemberRow]) -> None:
        assert row in rows
        self.states.append((row.member.name, row.state))

    def on_progress(self, rows: Sequence[MemberRow]) -> None:
        self.states.append(("", "progress"))


@pytest.fixture
def make(corpus: Path, tmp_path: Path) -> Make:
    """Return a function that makes a sweep from members in TOML."""

    def sweep(members: str) -> Sweep:
        (tmp_path / "small.toml").write_text(RECIPE.format(corpus=corpus))
        (tmp_path / "mine.toml").write_text(f'recipe = "small.toml"\nbase = "base"\n{members}')
        return read_sweep(str(tmp_path / "mine.toml"))

    return sweep


@pytest.mark.long
def test_a_failed_member_does_not_stop_others_and_only_it_runs_again(make: Make, tmp_path: Path) -> None:
    sweep = make(
        """
[[members]]
name = "base"
reference = { bleu = 3.5 }
[[members]]
name = "broken"
data.target = "nowhere.en"
[[members]]
name = "gru"
model.kind = "seq2seq"
model.cell = "gru"
model.d_embedding = 7
model.d_hidden = 11
model.num_layers = 1
"""
    )
    folder, watching = tmp_path / "runs", Watching()
    rows = run_sweep(sweep, folder, watching, jobs=2)
    assert [row.state for row in rows] == ["done", "failed", "done"]
    assert watching.states[:2] == [("base", "running"), ("broken", "running")]
    assert set(watching.states[2:]) == {
        ("base", "done"),
        ("broken", "failed"),
        ("gru", "running"),
        ("gru", "done"),
    }
    assert "nowhere.en: no such file" in rows[1].error
    assert rows[0].result["steps"] == 4
    assert rows[0].result["parameters"] != rows[2].result["parameters"]
    assert rows[0].result["held_out"]["bleu"] >= 0
    assert rows[0].result["held_out"]["perplexity"] > 1
    assert json.loads((folder / "gru" / "result.json").read_text()) == rows[2].result

    again = Watching()
    rows_again = run_sweep(sweep, folder, again)
    assert again.states == [("broken", "running"), ("broken", "failed")]
    assert rows_again[0].result == rows[0].result

    other_part = Watching()
    rows_read = run_sweep(sweep, folder, other_part, part=(1, 2))  # "broken" belongs to part 2
    assert other_part.states == []
    assert [row.state for row in rows_read] == ["done", "waiting", "done"]

    table = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert [line["member"] for line in table] == ["base", "broken", "gru"]
    assert table[1]["error"] == rows[1].error
    assert table[2]["model.cell"] == "gru"
    assert table[0]["reference bleu"] == "3.5"
    assert float(table[0]["held_out perplexity"]) == rows[0].result["held_out"]["perplexity"]
    assert to_html(sweep, rows).count("<tr") == 2 * 4


def test_a_result_belongs_to_its_settings_and_steps(make: Make, tmp_path: Path) -> None:
    members = '[[members]]\nname = "base"\ntraining.clip_norm = 9\n'
    (short,), (longer,) = make(members).members, make(members + "training.steps = 7\n").members
    result = run_member(short.recipe, tmp_path / "base")
    assert result is not None
    assert result["steps"] == 4
    assert result_of(short.recipe, tmp_path / "base") == result
    assert result_of(longer.recipe, tmp_path / "base") is None
    (other,) = make(members + "search.length_penalty = 2.5\n").members
    assert result_of(other.recipe, tmp_path / "base") is None
    again = run_member(longer.recipe, tmp_path / "base")
    assert again is not None
    assert again["steps"] == 7
    assert (tmp_path / "base" / "metrics.jsonl").read_text().count('"validation"') == 3


def test_a_result_belongs_to_the_contents_of_its_files(make: Make, tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "test.de").write_text("a b\n")
    (tmp_path / "test.en").write_text("c d\n")
    tests = f'data.tests = {{ other = ["{tmp_path}/test.de", "{tmp_path}/test.en"] }}\n'
    (member,) = make(f'[[members]]\nname = "base"\n{tests}').members
    result = run_member(member.recipe, tmp_path / "base")
    assert result_of(member.recipe, tmp_path / "base") == result
    (tmp_path / "test.en").write_text("d c\n")
    assert result_of(member.recipe, tmp_path / "base") is None


def test_a_test_set_with_a_reserved_name_is_refused(make: Make, tmp_path: Path) -> None:
    tests = 'data.tests = { minutes = ["train.de", "train.en"] }\n'
    (member,) = make(f'[[members]]\nname = "base"\n{tests}').members
    with pytest.raises(UserError, match=r'data\.tests: a test set cannot be called "minutes" in a sweep'):
        run_member(member.recipe, tmp_path / "base")


def test_an_interrupted_sweep_is_resumed(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "PROGRESS_SECONDS", 0.1)
    many = "training.steps = 101\ntraining.log_every = 1\nvalidation.every = 101\n"
    sweep = make(f'[[members]]\nname = "base"\n{many}')
    folder = tmp_path / "runs"
    metrics = folder / "base" / "metrics.jsonl"

    def interrupt() -> None:
        while not metrics.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    rows = run_sweep(sweep, folder, watching := Watching())
    assert [row.state for row in rows] == ["interrupted"]
    assert ("", "progress") in watching.states
    assert [run.name for run in begun_runs(rows, folder)] == ["base"]
    assert begun_runs(rows, tmp_path) == []
    assert 0 < metrics.read_text().count('"update"') < 101
    assert [row.state for row in run_sweep(sweep, folder, Watching())] == ["done"]
    events = [json.loads(line) for line in metrics.read_text().split("\n")[:-1]]
    assert [event["step"] for event in events if event["event"] == "update"] == list(range(1, 102))


# --- the table --------------------------------------------------------------------------------------


def rows_of(make: Make, results: dict[str, tuple[float, float]]) -> tuple[Sweep, list[MemberRow]]:
    """Return rows from names with our BLEU and the reference's."""
    text = "".join(
        f'[[members]]\nname = "{name}"\nreference = {{ bleu = {theirs} }}\n'
        for name, (_, theirs) in results.items()
    )
    sweep = make(text)
    rows = [
        MemberRow(member, "done", {"steps": 1, "news": {"bleu": results[member.name][0]}})
        for member in sweep.members
    ]
    return sweep, rows


def test_directions_are_compared_with_the_reference(make: Make) -> None:
    sweep, rows = rows_of(
        make,
        {
            "base": (20.0, 25.0),
            "up": (21.0, 26.0),
            "down": (22.0, 24.0),
            "same": (3.0, 25.0),
            "less": (1.0, 9.0),
        },
    )
    assert agreement(sweep, rows) == ["bleu: 2 of 3 changes agree with the reference (not down)."]
    assert agreement(sweep, [MemberRow(rows[0].member, "failed"), *rows[1:]]) == []


def test_untrusted_text_does_not_become_markup(make: Make) -> None:
    sweep, rows = rows_of(make, {"base": (1.0, 2.0), "<b>x": (1.0, 2.0)})
    rows.append(
        MemberRow(Member("c", rows[0].member.recipe, {}, {}), "failed", error="<script>alert(1)</script>")
    )
    page = to_html(sweep, rows)
    assert "<b>x" not in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
