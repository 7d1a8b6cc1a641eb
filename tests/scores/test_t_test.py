"""The paired t-test against SciPy's."""

import random

import pytest

from multihead.scores.t_test import paired_t_test


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("effect", [0.0, 0.7, -5.0])
def test_p_values_are_those_of_scipy(n: int, effect: float) -> None:
    stats = pytest.importorskip("scipy.stats", reason="the extra [detect] is not installed")
    draw = random.Random(n)
    differences = [draw.gauss(effect, 1.3) for _ in range(n)]
    expected = stats.ttest_rel(differences, [0.0] * n).pvalue
    assert paired_t_test(differences) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_three_differences_by_hand() -> None:
    # t = 2 sqrt(3) with 2 degrees of freedom: p = 1 - t / sqrt(t^2 + 2) = 1 - sqrt(12 / 14)
    assert paired_t_test([1.0, 2.0, 3.0]) == pytest.approx(1 - (12 / 14) ** 0.5)


@pytest.mark.parametrize("differences", [[], [0.3], [0.0, 0.0], [31.35 - 31.0, 30.35 - 30.0, 7.35 - 7.0]])
def test_equal_differences_cannot_be_tested(differences: list[float]) -> None:
    assert paired_t_test(differences) is None
