"""F1 of labelled spans, with numbers by hand."""

import pytest

from multihead.tasks.tagging.span_scores import are_spans, span_scores, spans


def test_spans_begin_and_continue() -> None:
    assert spans(["B-PER", "I-PER", "O", "B-LOC"]) == [(0, 2, "PER"), (3, 4, "LOC")]
    assert spans(["B-PER", "B-PER"]) == [(0, 1, "PER"), (1, 2, "PER")]
    assert spans(["I-PER", "I-LOC", "O", "I-LOC"]) == [(0, 1, "PER"), (1, 2, "LOC"), (3, 4, "LOC")]
    assert spans(["B-PER", "I-LOC", "I-LOC"]) == [(0, 1, "PER"), (1, 3, "LOC")]
    assert spans([]) == []


def test_a_span_counts_if_extent_and_label_are_right() -> None:
    true = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG"]]
    predicted = [["B-PER", "O", "O", "B-LOC"], ["B-ORG", "B-ORG"]]
    found = span_scores(true, predicted)
    assert (found.true, found.predicted, found.correct) == (3, 4, 2)
    assert found.precision == 0.5
    assert found.recall == pytest.approx(2 / 3)
    assert found.f1 == pytest.approx(4 / 7)
    assert span_scores([["O"]], [["O"]]).f1 == 0.0


def test_other_tags_are_no_spans() -> None:
    assert are_spans(["O", "B-PER", "I-PER"])
    assert not are_spans(["O"])
    assert not are_spans(["O", "NOUN"])
    assert not are_spans(["0", "1"])
