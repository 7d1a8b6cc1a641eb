"""report.html, which every training writes by itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from watching import Silent

from multihead.inspect.report import training_page
from multihead.recipe import Recipe
from multihead.run import Run
from multihead.settings import Settings
from multihead.workflows import train as road
from multihead.workflows.train import train

Make = Callable[..., Recipe[Settings]]


@pytest.mark.parametrize(("drawn", "shown"), [(0, (2, 4, 6)), (1e9, (2, 2, 2))])
def test_a_training_reports_at_validations_while_that_is_cheap_and_at_its_end(
    tmp_path: Path, small: Make, monkeypatch: pytest.MonkeyPatch, drawn: float, shown: tuple[int, ...]
) -> None:
    monkeypatch.setattr(road, "DRAWN", drawn)
    report = tmp_path / "run" / "report.html"
    seen: list[str] = []

    class Watching(Silent):
        def validated(self, event: dict[str, Any], samples: str) -> None:
            seen.append(report.read_text(encoding="utf-8"))

    train(small(), tmp_path / "run", Watching())
    assert [f"update {step} of 6" in html for step, html in zip(shown, seen, strict=True)] == [True] * 3
    end = report.read_text(encoding="utf-8")
    assert "final weights: " in end
    assert [html.count('class="map"') for html in (*seen, end)] == [0, 0, 0, 3]
    sizes = Run.open(tmp_path / "run")
    assert f"{sum(p.numel() for p in sizes.load_model().parameters()):,}" in end
    cleaning = sizes.environment["data"]["cleaning"]
    assert f"<td>{cleaning['read']:,}</td>" in end
    assert "train.de" in end
    last = list(sizes.samples())[-1]
    assert last[0] == 6
    assert last[1].split("\n")[0].removeprefix("source     ") in end


def test_a_report_that_fails_does_not_fail_the_training(
    tmp_path: Path, small: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("no ink")

    monkeypatch.setattr(road, "training_page", fails)
    with pytest.warns(UserWarning, match="no ink"):
        outcome = train(small(), tmp_path / "run", Silent())
    assert outcome.how == "finished"
    assert not (tmp_path / "run" / "report.html").exists()


def test_reports_are_drawn_of_what_a_folder_tells_however_little(tmp_path: Path, small: Make) -> None:
    train(small(), tmp_path / "run", Silent())
    run = Run.open(tmp_path / "run")
    (run.folder / "metrics.jsonl").unlink()
    (run.folder / "samples.txt").write_text("", encoding="utf-8")
    html = training_page(run).html
    assert "update 0 of 6" in html
    assert 'class="chart"' not in html
