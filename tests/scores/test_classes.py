"""Accuracy, F1 and the confusion matrix, by hand."""

import numpy as np
import pytest

from multihead.scores.classes import class_scores

LABELS = [0, 0, 0, 1, 1, 2, 2]
GUESSES = [0, 0, 1, 1, 0, 2, 2]


def test_classification_metrics_by_hand() -> None:
    scores = class_scores(LABELS, GUESSES, 3)
    assert scores.confusion.tolist() == [[2, 1, 0], [1, 1, 0], [0, 0, 2]]
    assert scores.count == 7
    assert scores.accuracy == pytest.approx(5 / 7)
    assert np.allclose(scores.precision, [2 / 3, 1 / 2, 1])
    assert np.allclose(scores.recall, [2 / 3, 1 / 2, 1])
    assert np.allclose(scores.f1_by_class, [2 / 3, 1 / 2, 1])
    assert scores.f1 == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)


def test_a_class_without_examples_or_predictions_does_not_count() -> None:
    assert class_scores([0, 1], [0, 1], 5).f1 == 1.0


def test_a_class_never_predicted_has_an_f1_of_0() -> None:
    scores = class_scores([0, 1], [0, 0], 2)
    assert scores.f1_by_class.tolist() == pytest.approx([2 / 3, 0])


def test_every_label_needs_a_prediction() -> None:
    with pytest.raises(ValueError, match="zip"):
        class_scores([0, 1], [0], 2)
