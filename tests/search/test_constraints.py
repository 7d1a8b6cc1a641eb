import hypothesis.strategies as st
import torch
from hypothesis import given, settings
from torch import Tensor

from multihead.search.constraints import Banned, NoRepeatedNgram, at_least, forbid_

V = 5
histories = st.lists(st.lists(st.integers(0, V - 1), max_size=13), min_size=1, max_size=7)


def flush_right(rows: list[list[int]]) -> Tensor:
    width = max(map(len, rows)) + 1
    return torch.tensor([[-1] * (width - 1 - len(row)) + [V, *row] for row in rows])


def forbidden(rows: list[list[int]], *constraints: object) -> list[set[int]]:
    logits = torch.zeros(len(rows), V + 2)
    forbid_(logits, flush_right(rows), constraints)  # type: ignore[arg-type]
    return [set(torch.nonzero(row == -torch.inf)[:, 0].tolist()) for row in logits]


@given(histories, st.integers(1, 5))
@settings(deadline=None)
def test_a_token_is_forbidden_exactly_where_it_would_repeat_an_ngram(rows: list[list[int]], n: int) -> None:
    def repeats(row: list[int]) -> bool:
        grams = [tuple(row[i : i + n]) for i in range(len(row) - n)]
        return tuple(row[-n:]) in grams and len(row) >= n

    expected = [{token for token in range(V) if repeats([*row, token])} for row in rows]
    # The begin symbol (id V) is part of the history, and is itself an n-gram of one token.
    found = [tokens - {V} for tokens in forbidden(rows, NoRepeatedNgram(n))]
    assert found == expected


@given(histories, st.integers(0, 9))
@settings(deadline=None)
def test_the_end_is_forbidden_up_to_the_minimum_length(rows: list[list[int]], length: int) -> None:
    expected: list[set[int]] = [{3} if len(row) < length else set() for row in rows]
    assert forbidden(rows, at_least(length, 3)) == expected


def test_constraints_combine() -> None:
    assert forbidden([[0, 1, 0], [4]], Banned([2, 5]), NoRepeatedNgram(2), at_least(2, 3)) == [
        {1, 2, 5},
        {2, 3, 5},
    ]


def test_banning_no_tokens_forbids_nothing() -> None:
    assert forbidden([[1], [2, 3]], Banned([])) == [set(), set()]
