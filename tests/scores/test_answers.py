"""Exact match and F1 of answers, with numbers by hand."""

import pytest

from multihead.tasks.spans.answer_scores import answer_scores, exact, f1, words


def test_case_punctuation_and_articles_do_not_count() -> None:
    assert words("The  Denver Broncos!") == ["denver", "broncos"]
    assert exact("the cat", "Cat.")
    assert not exact("cat the dog", "dog cat")
    assert words("another theme, an analysis") == ["another", "theme", "analysis"]
    assert words("한국어, 답") == ["한국어", "답"]


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("Denver Broncos", "the Denver Broncos", 1.0),
        ("Denver", "Denver Broncos", 2 / 3),  # precision 1, recall 1/2
        ("in the year 1066", "1066", 1 / 2),  # precision 1/3, recall 1
        ("b b b c", "b b d", 4 / 7),  # two b in common
        ("cat", "dog", 0.0),
        ("", "", 1.0),
        ("", "dog", 0.0),
        ("the", "", 1.0),  # an article alone has no words
    ],
)
def test_f1_is_the_harmonic_mean_over_words(answer: str, reference: str, expected: float) -> None:
    assert f1(answer, reference) == pytest.approx(expected)


def test_scores_are_means_and_no_answer_counts_as_one() -> None:
    found = answer_scores(["Denver", "", "x", ""], ["Denver Broncos", "", "", "y"])
    assert found.exact == 1 / 4
    assert found.f1 == pytest.approx((2 / 3 + 1) / 4)
    assert (found.count, found.answerable) == (4, 2)
    assert answer_scores([], []).f1 == 0.0
    with pytest.raises(ValueError, match="zip"):
        answer_scores(["a"], [])
