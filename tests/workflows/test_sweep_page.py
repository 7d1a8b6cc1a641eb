"""The headlines of a sweep's page."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reports import a_comparison
from sweeps import row, sweep_of

from multihead.apps.studies.sweep import MemberRow, to_html
from multihead.apps.studies.sweep.headlines import HeadlineScore, by_length, changes, scores


def widths(page: str, kind: str) -> list[float]:
    """Return the widths of all bars of a kind, negative for those left of the middle."""
    found = re.findall(rf'<rect class="{kind}" x="([\d.]+)" y="\d+" width="([\d.]+)"', page)
    return [-float(width) if float(x) < 75 else float(width) for x, width in found]


def test_changes_are_the_differences_from_the_base() -> None:
    base = row("base", 30.0, recipe="a", model__norm="post", model__d_ff=256)
    other = row("b", 31.0, recipe="a", model__norm="post", model__d_ff=512, data__max_pairs=7)
    sweep = sweep_of(base, other, base="base")
    assert changes(other, sweep) == {"model.d_ff": 512, "data.max_pairs": 7}
    assert changes(base, sweep) == {}
    assert changes(base, sweep_of(base, other)) == {"model.d_ff": 256}


def test_scores_are_those_on_test_sets_or_else_on_the_validation_set() -> None:
    assert scores([row("a", None), row("b", 1.0)]) == [
        HeadlineScore("bleu", "news"),
        HeadlineScore("perplexity", "news"),
    ]
    valid: Mapping[str, Any] = {"minutes": 3.0, "valid_accuracy": 0.5, "valid_f1": 0.25}
    images = MemberRow(row("c", None).member, "done", valid)
    assert scores([images]) == [HeadlineScore("accuracy"), HeadlineScore("f1")]
    assert HeadlineScore("f1").of(images) == 0.25
    assert HeadlineScore("f1").of(row("d", None)) is None
    assert scores([row("e", None)]) == []


def test_bleu_is_shown_by_source_length() -> None:
    numbers = {"bleu": 3.0, "bleu_lowercase": 4.0, "bleu_lowercase_0-10": 5.0, "bleu_lowercase_11+": 2.0}
    rows = [row("waiting", None), MemberRow(row("a", None).member, "done", {"news": numbers})]
    found = by_length(rows)
    assert {words: score.of(rows[1]) for words, score in found.items()} == {"0-10": 5.0, "11+": 2.0}
    assert ">11+ words</small>bleu" in to_html(sweep_of(*rows), rows)
    assert by_length(rows[:1]) == {}


def test_bars_show_the_differences_from_the_base_of_ours_and_the_reference() -> None:
    rows = [
        row("base", 30.0, reference=20.0),
        row("up", 32.0, reference=21.0),
        row("down", 29.0, reference=18.0),
        row("waiting", None, reference=3.0),
    ]
    page = to_html(sweep_of(*rows, base="base"), rows)
    assert widths(page, "ours") == [0.0, 75.0, -37.5]
    assert widths(page, "theirs") == [0.0, 37.5, -75.0]
    assert ">scale: ±2.0<" in page


def test_a_bar_that_would_hide_the_others_is_clipped() -> None:
    rows = [row("base", 30.0), row("a", 31.0), row("b", 29.0), row("failed", 0.0)]
    page = to_html(sweep_of(*rows, base="base"), rows)
    assert widths(page, "ours") == [0.0, 18.8, -18.8, -75.0]
    assert ">scale: ±4.0; longer bars are clipped<" in page


def test_without_a_base_there_are_no_bars() -> None:
    rows = [row("a", 31.0), row("b", 29.0)]
    page = to_html(sweep_of(*rows), rows)
    assert "<svg" not in page
    assert "scale: ±" not in page
    assert page.count("31.0") == 2  # in the headlines and among all numbers
    assert "<td" not in to_html(sweep_of(), [])


def test_validation_losses_lie_over_one_another_with_a_colour_for_each_setting() -> None:
    rows = [
        row("a,seed=1", None, training__seed=1),
        row("a,seed=2", None, training__seed=2),
        row("b,seed=1", None, model__norm="pre", training__seed=1),
        row("waiting", None),
    ]
    events = [{"event": "validation", "step": step, "loss": 6.0 / step} for step in (1, 2, 3)]
    runs = [replace(a_comparison().runs[0], name=each.member.name, events=events) for each in rows[:3]]
    page = to_html(sweep_of(*rows), rows, runs)
    assert page.count('class="chart"') == 1
    lines = re.findall(r'<g class="(s\d[^"]*)"><title>([^<]*)</title><path', page)
    assert lines == [("s0 thin", "a,seed=1"), ("s0 thin", "a,seed=2"), ("s1", "b,seed=1")]
    assert re.findall(r'<li><i class="chip (s\d)"></i>([^<]*)</li>', page) == [("s0", "a"), ("s1", "b")]
    assert '<h2 data-ko="검증 손실">Validation loss</h2>' in page
    assert 'class="chart"' not in to_html(sweep_of(*rows), rows)
