"""HTML reports: they contain all results, and text is always escaped."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from reports import a_comparison, hostile_comparison
from small_translators import HOSTILE

from multihead.inspect.maps import Alignment
from multihead.inspect.maps.tokens import TokenLabel
from multihead.inspect.report import compare_page
from multihead.inspect.report.curves import of_one, overlaid
from multihead.inspect.report.lines import COLOURS, MAX_POINTS, Series, colour, line_chart
from multihead.inspect.report.maps import alignment_map
from multihead.inspect.report.markup import SafeHtml, join, tag
from multihead.inspect.report.samples import samples_card, translations
from multihead.inspect.report.sentences import mark_differences


class Elements(HTMLParser):
    """Parser that collects element names, attributes that load or run something, and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.loading: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names.append(name)
        self.open.append(name)
        self.loading += [
            key for key, _ in attributes if key in ("src", "href", "srcset") or key.startswith("on")
        ]

    def handle_endtag(self, name: str) -> None:
        assert name in self.open
        while self.open.pop() != name:
            pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_escaped_in_elements_and_in_attributes(text: str) -> None:
    made = tag("p", text, title=text)
    parsed = Elements(made)
    assert parsed.names == ["p"]
    assert "".join(parsed.texts) == text.replace("\u2028", "\\x2028")
    assert join(made) is made


def test_a_report_of_hostile_names_and_sentences_runs_only_its_own_script() -> None:
    plain, hostile = (Elements(compare_page(one).html) for one in (a_comparison(), hostile_comparison()))
    assert hostile.names.count("script") == plain.names.count("script") == 1
    assert not hostile.loading
    assert "img" not in hostile.names
    text = "".join(hostile.texts)
    assert all(one.replace("\u2028", "\\x2028") in text for one in HOSTILE)
    assert "\u2028" not in compare_page(hostile_comparison()).html


def test_the_report_contains_scores_intervals_and_counts() -> None:
    compared = a_comparison()
    text = "".join(Elements(compare_page(compared).html).texts)
    test = compared.tests[0]
    for run, measured in zip(compared.runs, test.runs, strict=True):
        assert run.name in text
        assert f"{run.parameters:,}" in text
        for comparison in (measured.cased["bleu"], measured.lowercase["bleu"], measured.cased["chrf"]):
            assert f"{comparison.system.score:.2f} ± {comparison.system.half_width:.2f}" in text
        for bucket in measured.by_length:
            assert f"n = {bucket.sentences}" in text
            assert f"{bucket.bleu.value:.2f}" in text
    assert "p = 0.031" in text
    assert "No attention over the source" in text
    assert "a note" in text


def test_a_report_of_one_run_has_no_comparison() -> None:
    both = a_comparison()
    test = both.tests[0]
    one = replace(
        both, runs=both.runs[:1], tests=[replace(test, runs=test.runs[:1], examples=[], aligned=[])]
    )
    html = compare_page(one).html
    assert "versus the first" not in html
    assert "better than" not in html


def test_settings_that_all_runs_share_are_not_listed() -> None:
    html = compare_page(a_comparison()).html
    assert "model.d_hidden" in html
    assert "training.steps" not in html


def test_a_long_line_is_thinned_and_keeps_its_end() -> None:
    known = [(float(x), 100.0 / (1 + x)) for x in range(4001)]
    chart = line_chart("loss", [Series("a", known, markers=False)], x_label="updates")
    path = re.search(r'd="M([^"]*)"', chart)
    assert path
    points = path[1].split("L")
    assert 250 < len(points) <= MAX_POINTS + 1
    assert points[-1].split()[0] == "506.0"  # the right end of the scale


def test_non_finite_values_are_omitted_and_a_single_point_is_a_marker() -> None:
    chart = line_chart("x", [Series("a", [(1, 3.0), (2, float("nan"))], markers=False)], x_label="updates")
    assert chart.count("<circle") == 1
    assert "<path" not in chart
    assert "nan" not in chart
    assert line_chart("x", [Series("a", [(1, float("inf"))])], x_label="updates") == ""


def test_the_axis_of_a_single_value_starts_at_zero() -> None:
    chart = line_chart("accuracy", [Series("a", [(7, 0.65)])], x_label="updates")
    assert ">0<" in chart.split("updates")[0]
    assert ">1.4<" not in chart


def test_line_colours_repeat_dashed_and_then_dotted() -> None:
    assert colour(COLOURS + 2) == "s2 dashed"
    assert colour(2 * COLOURS + 2) == "s2 dotted"


def test_there_is_a_curve_for_every_logged_metric_and_no_other() -> None:
    events = [
        {"event": "update", "step": 2, "loss": 3.0, "rate": 0.1},
        {"event": "validation", "step": 2, "loss": 2.5, "bits_per_character": 1.75},
        {"event": "validation", "step": 4, "loss": 2.0, "bits_per_character": 1.5},
    ]
    shown = of_one(events, "tokens")
    assert "Bits per character" in shown
    assert "Learning rate" in shown
    assert "BLEU" not in shown
    runs = a_comparison().runs
    assert overlaid(runs).count("<svg") == 2  # the first has BLEU, both have a validation loss


def test_a_map_has_a_cell_for_each_visible_weight() -> None:
    tokens = tuple(TokenLabel(text, i) for i, text in enumerate(HOSTILE))
    matrix = np.zeros((3, 5), dtype=np.float32)
    matrix[0, 1], matrix[1, 4], matrix[2, 0] = 1, 0.25, 0.001
    drawn = alignment_map(Alignment(matrix, tokens[:3], tokens, "how"), "a map")
    assert drawn.count("<rect") == 1 + 2
    assert "<script" not in drawn
    assert 'fill-opacity="1"' in drawn


def test_slanted_column_labels_fit_into_the_map() -> None:
    def width(*columns: str) -> int:
        tokens = tuple(TokenLabel(text, i) for i, text in enumerate(columns))
        alignment = Alignment(np.ones((1, 2), np.float32), (TokenLabel("a", 0),), tokens, "how")
        return max(map(int, re.findall(r' width="(\d+)"', alignment_map(alignment, "a map"))))

    assert width("a", ".") < width("Instrument", ".") < width("a", "Instrument")


def test_words_that_differ_from_the_reference_are_marked() -> None:
    assert join(mark_differences("a big dog runs", "a dog runs fast")) == "a <mark>big</mark> dog runs "
    assert join(mark_differences("", "a dog")) == '<mark data-ko="(비어 있음)">(empty)</mark>'


def test_samples_are_grouped_by_sentence() -> None:
    def block(*outputs: str) -> str:
        return "\n\n".join(f"source     s{i}\nreference  r\noutput     {o}" for i, o in enumerate(outputs))

    card = samples_card([(20, block("rot", "blau")), (40, block("", "grün"))])
    first, second = card.split("<li>")[1:]
    assert [word in first for word in ("s0", "rot", "(empty)", "blau")] == [True, True, True, False]
    assert [word in second for word in ("s1", "blau", "grün", "rot")] == [True, True, True, False]
    assert "update 40" in first


def test_samples_other_than_translations_are_shown_verbatim() -> None:
    assert translations("To be\nor not to be\nthat is") is None
    card = samples_card([(5, "To be <or>\n\tnot"), (9, "that is")])
    assert "To be &lt;or&gt;\n" in card
    assert card.count("<details") == 2
    assert samples_card([]) == SafeHtml()


def test_a_report_is_saved_to_a_file(tmp_path: Path) -> None:
    compare_page(a_comparison()).save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
