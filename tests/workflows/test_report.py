"""report.html, which every training run writes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from watching import Silent

from multihead.inspect.report import training_page
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.workflows import train as workflow
from multihead.workflows.train import train

Make = Callable[..., Recipe[Settings]]


@pytest.mark.parametrize(("interval", "shown"), [(0, (2, 4, 6)), (1e9, (2, 2, 2))])
def test_reports_are_written_at_validations_while_that_is_cheap_and_at_the_end(
    tmp_path: Path, small: Make, monkeypatch: pytest.MonkeyPatch, interval: float, shown: tuple[int, ...]
) -> None:
    monkeypatch.setattr(workflow, "REPORT_INTERVAL", interval)
    report = tmp_path / "run" / "report.html"
    pages: list[str] = []

    class Watching(Silent):
        def on_validation(self, event: dict[str, Any], samples: str) -> None:
            pages.append(report.read_text(encoding="utf-8"))

    train(small(), tmp_path / "run", Watching())
    assert [f"update {step} of 6" in html for step, html in zip(shown, pages, strict=True)] == [True] * 3
    end = report.read_text(encoding="utf-8")
    assert "final weights: " in end
    assert [html.count('class="map"') for html in (*pages, end)] == [0, 0, 0, 3]
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

    monkeypatch.setattr(workflow, "training_page", fails)
    with pytest.warns(UserWarning, match="no ink"):
        outcome = train(small(), tmp_path / "run", Silent())
    assert outcome.status == "finished"
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_report_needs_neither_metrics_nor_samples(tmp_path: Path, small: Make) -> None:
    train(small(), tmp_path / "run", Silent())
    run = Run.open(tmp_path / "run")
    (run.folder / "metrics.jsonl").unlink()
    (run.folder / "samples.txt").write_text("", encoding="utf-8")
    html = training_page(run).html
    assert "update 0 of 6" in html
    assert 'class="chart"' not in html
