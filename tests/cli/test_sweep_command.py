"""The command ``multihead sweep``; its trainings are tested in tests/workflows."""

from pathlib import Path

import pytest

from multihead.apps.studies.sweep import MemberRow, Sweep
from multihead.cli import main, sweep

Captured = pytest.CaptureFixture[str]
RESULT = {
    "parameters": 12345,
    "minutes": 1.5,
    "news": {"bleu": 31.25, "chrf": 50.0, "perplexity": 7.5, "bleu_lowercase": 33.0},
    "letters": {"bleu": 17.75, "chrf": 40.0, "perplexity": 9.5, "bleu_lowercase": 18.0},
}


def test_without_a_name_the_built_in_sweeps_are_listed(capfd: Captured) -> None:
    assert main(["sweep"]) == 0
    lines = capfd.readouterr().out.split("\n")
    listed = [line.split()[0] for line in lines if line[:1].strip()]
    assert listed == sorted(listed)
    assert {"depth", "ladder", "positions", "table3-mini", "why"} <= set(listed)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lader"], 'there is no sweep "lader"'),
        (["ladder", "--jobs", "0"], "--jobs 0. Give at least 1."),
        (["ladder", "--only", "gru*"], "--only: no member is named like 'gru*'. Give a pattern of rnn"),
        (["ladder", "--costs-only"], "--costs-only: this sweep has no [cost]"),
        (["ladder", "--model.nonsense", "3"], 'member rnn: model.nonsense: unknown key "model.nonsense"'),
        (["ladder", "--training.steps", "many"], 'member rnn: training.steps: "many" is given'),
    ],
)
def test_invalid_input_is_reported_before_any_training(
    arguments: list[str], said: str, capfd: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *arguments]) == 2
    assert said in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("last", "code"), [("done", 0), ("failed", 1), ("waiting", 130)])
def test_the_table_is_printed_and_written(
    last: str, code: int, capfd: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def pretended(
        plan: Sweep, folder: Path, observer: object, *, jobs: int, part: object, only: str
    ) -> list[MemberRow]:
        assert part == (1, 1)
        folder.mkdir()
        rows = [MemberRow(member, "done", RESULT) for member in plan.members]
        error = "it broke" if last == "failed" else ""
        broken = MemberRow(plan.members[-1], last, RESULT if last == "done" else {}, error)  # type: ignore[arg-type]
        observer.on_change(rows[0], [rows[0], *(MemberRow(row.member, "waiting") for row in rows[1:])])  # type: ignore[attr-defined]
        assert (folder / "table.csv").read_text().count(",waiting,") == len(rows) - 1
        observer.on_change(broken, rows)  # type: ignore[attr-defined]
        (folder / "table.html").unlink()
        observer.on_progress(rows)  # type: ignore[attr-defined]
        assert (folder / "table.html").exists()
        return [*rows[:-1], broken]

    monkeypatch.setattr(sweep, "run_sweep", pretended)
    monkeypatch.chdir(tmp_path)
    folder = Path("runs")
    assert main(["sweep", "ladder", "--folder", str(folder), "--jobs", "2"]) == code
    out = capfd.readouterr().out
    assert "lstm" in out
    assert "12,345" in out
    assert "news (not shown here: letters)" in out
    assert "31.25" in out
    assert "17.75" not in out
    assert max(map(len, out.split("\n"))) <= 80
    assert ("transformer: failed: it broke" in out) == (last == "failed")
    csv, page = (folder / "table.csv").read_text(), (folder / "table.html").read_text()
    assert csv.startswith("member,state,recipe,parameters,minutes,news bleu,news chrf,")
    assert page.count("<tr") == 2 * 6
    assert "33.0" in page
    assert "17.75" in page
