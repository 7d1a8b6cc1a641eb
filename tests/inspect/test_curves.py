"""Learning curves, as a figure and as text."""

import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.inspect.curves import PANELS, draw_curves, points
from multihead.inspect.sparklines import sparkline, terminal_curves

TRAINING, VALIDATION = PANELS[0].lines
BLEU = PANELS[1].lines[0]


def some_events(steps: int = 500, every: int = 50) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for step in range(every, steps + 1, every):
        nll = 1 + 7 * math.exp(-step / 100)
        events.append({"event": "update", "step": step, "loss": nll + 1, "nll": nll, "rate": step * 1e-6})
        if step % 100 == 0:
            scores = {"loss": nll + 0.1, "bleu": 10 * nll, "chrf": 50.0}
            events.append({"event": "validation", "step": step, **scores})
    return events


def texts(path: Path) -> str:
    """Return an SVG's source; text drawn as outlines appears in its comments."""
    return path.read_text(encoding="utf-8")


def test_training_loss_excludes_label_smoothing_if_that_was_logged() -> None:
    events = some_events(100)
    assert points(events, TRAINING) == [(step, 1 + 7 * math.exp(-step / 100)) for step in (50, 100)]
    for event in events:
        event.pop("nll", None)
    assert points(events, TRAINING)[0][1] == pytest.approx(2 + 7 * math.exp(-0.5))


def test_points_are_sorted_and_finite() -> None:
    events = [
        {"event": "validation", "step": 7, "loss": 3.0},
        {"event": "validation", "step": 3, "loss": 5.0, "bleu": None},
        {"event": "validation", "step": 5, "loss": None, "bleu": 11.0},
        {"event": "update", "step": 6, "loss": 1.0},
        {"event": "end", "step": 7, "loss": 2.0},
    ]
    assert points(events, VALIDATION) == [(3, 5.0), (7, 3.0)]
    assert points(events, BLEU) == [(5, 11.0)]
    assert points([], BLEU) == []


def test_the_same_events_give_the_same_file(tmp_path: Path) -> None:
    events = some_events()
    draw_curves(events, tmp_path / "a.svg")
    draw_curves(iter(events), tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    draw_curves(some_events(600), tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() != (tmp_path / "b.svg").read_bytes()


def test_speed_and_time_do_not_affect_the_figure(tmp_path: Path) -> None:
    draw_curves(some_events(), tmp_path / "a.svg")
    timed = [{**event, "tokens_per_second": 1234.5, "seconds": 6.7} for event in some_events()]
    draw_curves(timed, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_there_is_a_panel_for_every_logged_metric_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "curves.svg"
    draw_curves(some_events(), path)
    ET.parse(path)
    named = (
        "loss (nats)",
        "training",
        "validation",
        "validation score",
        "BLEU",
        "chrF",
        "learning rate",
    )
    assert [name for name in named if f"<!-- {name} -->" in texts(path)] == list(named)
    draw_curves([event for event in some_events() if event["event"] == "update"], path)
    assert "<!-- loss (nats) -->" in texts(path)
    assert "validation score" not in texts(path)
    draw_curves([], path)
    assert "<!-- no metrics yet -->" in texts(path)


def test_the_best_validation_is_marked(tmp_path: Path) -> None:
    events = [{"event": "validation", "step": s, "loss": v} for s, v in ((10, 3.0), (20, 1.25), (30, 2.0))]
    draw_curves(events, tmp_path / "curves.svg")
    assert "<!-- 1.25 -->" in texts(tmp_path / "curves.svg")


def test_the_background_is_white(tmp_path: Path) -> None:
    draw_curves(some_events(), tmp_path / "curves.svg")
    assert "fill: #ffffff" in texts(tmp_path / "curves.svg")


def test_an_unsupported_image_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\.svg, \.png or \.pdf"):
        draw_curves(some_events(), tmp_path / "curves.gif")
    assert list(tmp_path.iterdir()) == []


def test_an_infinite_loss_is_omitted(tmp_path: Path) -> None:
    events = [
        {"event": "update", "step": s, "nll": v, "rate": 0.1} for s, v in ((1, 2.0), (2, math.inf), (3, 1.0))
    ]
    draw_curves(events, tmp_path / "curves.svg")
    assert terminal_curves(events).endswith("1")


def test_the_terminal_shows_one_line_per_metric() -> None:
    lines = terminal_curves(some_events()).split("\n")
    assert [line[:16].strip() for line in lines] == ["training loss", "validation loss", "BLEU", "chrF"]
    assert lines[0].split() == ["training", "loss", "5.25", "█▅▄▃▂▂▁▁▁▁", "1.05"]
    assert lines[3].split() == ["chrF", "50", "▁▁▁▁▁", "50"]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_terminal_curves_fill_the_width_without_wrapping(width: int) -> None:
    lines = terminal_curves(some_events(100_000), width).split("\n")
    assert max(map(len, lines)) <= width
    assert min(map(len, lines)) > width - 8


def test_no_events_give_no_curves() -> None:
    assert terminal_curves([]) == ""


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=200), st.integers(1, 60))
def test_block_heights_follow_the_means_of_their_values(values: list[float], width: int) -> None:
    shown = sparkline(values, width)
    assert len(shown) == min(len(values), width)
    if len(values) <= width and max(values) > min(values):
        assert shown[values.index(min(values))] == "▁"
        assert shown[values.index(max(values))] == "█"
        ordered = [block for _, block in sorted(zip(values, shown, strict=True))]
        assert ordered == sorted(ordered)
