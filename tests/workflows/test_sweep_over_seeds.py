"""A sweep's changes over their seeds: means, deviations, and the test against the reference."""

import json
from statistics import fmean, stdev

import pytest
from rich.console import Console

from multihead import recipe as recipes
from multihead.apps.studies.sweep import (
    Member,
    MemberRow,
    Sweep,
    changes_over_seeds,
    statistics,
    to_html,
    to_json,
)
from multihead.apps.studies.sweep.headlines import HeadlineScore
from multihead.cli import sweep as command

RECIPE = recipes.load("quickstart")
BLEU = HeadlineScore("bleu", "news")
SCORES: dict[str, dict[int, float | None]] = {
    "base": {1: 30.0, 2: 31.5, 3: 30.5},
    "wide": {1: 31.0, 2: 32.0, 3: 32.5},
    "deep": {2: 29.0, 3: 27.0, 4: 99.0},
    "waiting": {1: None, 2: None},
}


def row(name: str, seed: int, bleu: float | None, named: str | None = None) -> MemberRow:
    changed = {"recipe": "a", "model.kind": name, "training.seed": seed}
    member = Member(named or f"{name},seed={seed}", RECIPE, changed, {})
    if bleu is None:
        return MemberRow(member, "waiting")
    numbers = {"bleu": bleu, "perplexity": 1.5 + seed}
    return MemberRow(member, "done", {"minutes": 1.0, "parameters": 7, "news": numbers})


ROWS = [row(name, seed, bleu) for name, seeds in SCORES.items() for seed, bleu in seeds.items()]
SWEEP = Sweep("mine", "about", "base,seed=1", tuple(row.member for row in ROWS))


def test_a_change_is_compared_with_the_reference_of_the_same_seeds() -> None:
    stats = pytest.importorskip("scipy.stats", reason="the extra [detect] is not installed")
    changes = changes_over_seeds(SWEEP, ROWS)
    assert [(change.name, change.reference) for change in changes] == [
        ("base", True),
        ("wide", False),
        ("deep", False),
        ("waiting", False),
    ]
    base, wide, deep, waiting = (statistics(BLEU, change, changes) for change in changes)
    assert base
    assert wide
    assert deep
    assert waiting is None
    assert (base.mean, base.deviation) == (fmean([30.0, 31.5, 30.5]), stdev([30.0, 31.5, 30.5]))
    assert base.difference is base.p_value is None
    assert wide.pairs == 3
    assert wide.difference == pytest.approx(3.5 / 3)
    expected = stats.ttest_rel([31.0, 32.0, 32.5], [30.0, 31.5, 30.5]).pvalue
    assert wide.p_value == pytest.approx(expected)
    assert (deep.pairs, deep.difference) == (2, -3.0)  # seed 4 is in the mean alone
    assert deep.mean == pytest.approx(155 / 3)


def test_members_named_by_hand_are_grouped_by_their_settings() -> None:
    rows = [row("a", 1, 3.0, "first"), row("a", 2, 4.0, "second"), row("b", 1, 5.0, "third")]
    sweep = Sweep("mine", "about", "first", tuple(row.member for row in rows))
    assert [[*change.rows] for change in changes_over_seeds(sweep, rows)] == [[1, 2], [1]]


def test_a_sweep_of_one_seed_has_no_means() -> None:
    rows = [row("a", 1, 3.0), row("b", 1, 4.0)]
    sweep = Sweep("mine", "about", "a,seed=1", tuple(row.member for row in rows))
    assert changes_over_seeds(sweep, rows) == []
    assert "over seeds" not in to_html(sweep, rows)


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_mean_deviation_difference_and_p(width: int) -> None:
    console = Console(width=width)
    with console.capture() as captured:
        command._show_over_seeds(SWEEP, ROWS, console)
    lines = captured.get().split("\n")
    assert max(map(len, lines)) <= width
    assert ["change", "seeds", "bleu,", "mean", "±", "sd", "difference", "p"] in [
        line.split() for line in lines
    ]
    assert ["wide", "3", "31.83", "±", "0.76", "+1.17", "0.118"] in [line.split() for line in lines]
    assert ["waiting", "0"] in [line.split() for line in lines]


def test_page_and_json_have_every_score() -> None:
    page, listed = to_html(SWEEP, ROWS), json.loads(to_json(SWEEP, ROWS))["changes"]
    assert "31.83 ± 0.76" in page
    assert "standard deviation over seeds" in page
    assert [change["seeds"] for change in listed] == [[1, 2, 3], [1, 2, 3], [2, 3, 4], []]
    assert listed[0]["scores"]["news bleu"]["difference"] is None
    assert listed[1]["scores"]["news perplexity"]["difference"] == 0
    assert listed[1]["scores"]["news perplexity"]["p_value"] is None
    assert listed[3]["scores"] == {}
