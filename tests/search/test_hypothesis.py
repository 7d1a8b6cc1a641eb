"""The selection of a sentence's n best hypotheses."""

from hypothesis import given
from hypothesis import strategies as st

from multihead.search.hypotheses import Hypothesis, best

FOUND = st.lists(st.tuples(st.tuples(st.integers(5, 7)), st.floats(-10, 0)), max_size=11)


@given(FOUND, st.integers(1, 5))
def test_the_best_of_equal_hypotheses_is_kept(found: list[tuple[tuple[int], float]], n_best: int) -> None:
    highest = {tokens: max(score for other, score in found if other == tokens) for tokens, _ in found}
    kept = best([Hypothesis(tokens, score, score, True) for tokens, score in found], n_best)
    assert {h.tokens: h.score for h in kept}.items() <= highest.items()
    assert [h.score for h in kept] == sorted(highest.values(), reverse=True)[:n_best]


@given(FOUND, st.integers(1, 5))
def test_without_distinct_the_n_best_are_kept(found: list[tuple[tuple[int], float]], n_best: int) -> None:
    kept = best([Hypothesis(tokens, score, score, True) for tokens, score in found], n_best, distinct=False)
    assert [h.score for h in kept] == sorted((score for _, score in found), reverse=True)[:n_best]
