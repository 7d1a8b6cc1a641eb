"""Progress output on terminals of several widths, and without a terminal."""

import io
import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from multihead.workflows.progress_display import (
    ProgressDisplay,
    format_duration,
    format_metrics,
    format_number,
)

UPDATE = {
    "event": "update",
    "step": 11_650,
    "loss": 3.21456,
    "rate": 1.234e-3,
    "norm": 0.8312,
    "tokens_per_second": 5230.5,
    "eta_seconds": 4321.0,
}
VALIDATION = {
    "event": "validation",
    "step": 11_600,
    "best": True,
    "loss": 2.31,
    "perplexity": 1382.3,
    "accuracy": 0.51,
    "bleu": 23.41,
    "chrf": 45.2,
}
SAMPLES = (
    "source     [Ein] Mann mit orangefarbenem Hut, der etwas anstarrt, und zwar schon lange\noutput     x"
)


def shown(width: int, *, terminal: bool) -> str:
    """Return the output of a short training run."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=width, markup=False, soft_wrap=True)
    with ProgressDisplay(console) as watcher:
        watcher.on_preparation("reading", 1_000, None)
        watcher.on_preparation("reading", 29_000, 29_000)
        watcher.on_preparation("encoding", 9_000, 29_000)
        watcher._steps = 100_000
        updated: dict[str, Any] = dict(UPDATE)
        watcher.on_log(updated)
        watcher._bars.refresh()
        watcher.on_validation(dict(VALIDATION), SAMPLES)
    return out.getvalue()


def frames(text: str) -> list[str]:
    """Return the successive lines of terminal output, without control sequences."""
    return re.split(r"[\r\n]+", re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", text))


@pytest.mark.parametrize("width", [80, 120])
def test_every_line_fits_into_the_terminal(width: int) -> None:
    lines = frames(shown(width, terminal=True))
    assert max(map(cell_len, lines)) <= width
    bars = [line for line in lines if "11,650/100,000  ETA 1:12:01" in line]
    assert bars
    assert all(len(line) == width for line in bars)
    assert "loss 3.215   learning rate 1.2e-03   gradient norm 0.831   5,230 tokens/s" in lines


def test_samples_on_a_terminal_are_wrapped_and_indented() -> None:
    lines = [line.rstrip() for line in frames(shown(80, terminal=True))]
    first = next(place for place, line in enumerate(lines) if line.startswith("  source     [Ein] Mann"))
    assert lines[first].endswith("und zwar")
    assert lines[first + 1] == "  schon lange"


def test_without_a_terminal_the_output_is_plain_lines() -> None:
    lines = shown(80, terminal=False).split("\n")
    assert lines == [
        "reading: 29,000",
        "step 11650/100000  loss 3.215  learning rate 1.2e-03  gradient norm 0.831  5,230 tokens/s"
        "  ETA 1:12:01",
        "step 11,600  validation loss 2.310  perplexity 1,382  accuracy 0.510  bleu 23.41  chrf 45.20",
        "  best so far",
        *(f"  {line}" for line in SAMPLES.split("\n")),
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0:00"), (59.7, "1:00"), (723, "12:03"), (11_045, "3:04:05")]
)
def test_durations_are_readable(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_numbers_have_a_readable_number_of_digits() -> None:
    shown = {0.0: "0.000", 0.000312: "0.00031", 0.0432: "0.043", 3.21456: "3.215", -12.345: "-12.35"}
    assert {value: format_number(value) for value in (*shown, 1382.32)} == {**shown, 1382.32: "1,382"}
    assert format_metrics({"step": 7, "best": True, "bleu": 1.0, "event": "x"}) == "bleu 1.000"


def test_control_characters_in_data_do_not_reach_the_terminal() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=False, markup=False)
    with ProgressDisplay(console) as watcher:
        watcher.on_data(["classes: a\033]0;owned\a"], 1)
        watcher.on_validation(dict(VALIDATION), "source  x\033[2J\noutput  \r y\tz")
    assert not set(out.getvalue()) & set("\033\a\r")
    assert r"a\x1b]0;owned\x07" in out.getvalue()
    assert "\n  output  \\x0d y" in out.getvalue()
