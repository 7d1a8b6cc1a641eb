"""Which of the hypotheses of a sentence are handed out."""

from hypothesis import given
from hypothesis import strategies as st

from multihead.search.hypotheses import Hypothesis, best

FOUND = st.lists(st.tuples(st.tuples(st.integers(5, 7)), st.floats(-10, 0)), max_size=11)


@given(FOUND, st.integers(1, 5))
def test_of_hypotheses_with_the_same_tokens_the_best_is_kept(
    found: list[tuple[tuple[int], float]], n_best: int
) -> None:
    highest = {tokens: max(score for other, score in found if other == tokens) for tokens, _ in found}
    kept = best([Hypothesis(tokens, score, score, True) for tokens, score in found], n_best)
    assert {h.tokens: h.score for h in kept}.items() <= highest.items()
    assert [h.score for h in kept] == sorted(highest.values(), reverse=True)[:n_best]


@given(FOUND, st.integers(1, 5))
def test_where_they_need_not_differ_the_best_are_kept(
    found: list[tuple[tuple[int], float]], n_best: int
) -> None:
    kept = best([Hypothesis(tokens, score, score, True) for tokens, score in found], n_best, distinct=False)
    assert [h.score for h in kept] == sorted((score for _, score in found), reverse=True)[:n_best]
