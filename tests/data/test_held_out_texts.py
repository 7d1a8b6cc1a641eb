"""Texts held out by hash: equal texts together, a fraction of many, enough of a few."""

from itertools import count as counting

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.data.held_out_texts import held_out_texts


@pytest.mark.parametrize(
    ("count", "fraction", "least", "most"),
    [
        (2, 0.01, 1, 1),
        (3, 0.01, 1, 1),
        (7, 0.01, 1, 1),
        (61, 0.05, 12, 12),
        (307, 0.01, 20, 20),
        (1999, 0.01, 20, 32),
        (20011, 0.01, 150, 250),
        (307, 0.2, 40, 85),
    ],
)
def test_a_fraction_of_many_and_enough_of_a_few(count: int, fraction: float, least: int, most: int) -> None:
    texts = [f"text {number}" for number in range(count)]
    held_out = held_out_texts(texts, fraction, seed=1)
    assert least <= sum(map(held_out, texts)) <= most


@given(st.lists(st.text("ab "), min_size=1, max_size=53), st.floats(0.01, 0.5), st.integers(0, 5))
def test_two_different_texts_are_enough(texts: list[str], fraction: float, seed: int) -> None:
    different = {text for text in texts if text.strip()}
    out = held_out_texts(texts, fraction, seed)
    held = {text for text in different if out(text)}
    assert bool(held) == (len(different) > 1) or len(held) == len(different)


def test_the_choice_does_not_depend_on_the_order_or_on_repetitions() -> None:
    texts = [f"text {number}" for number in range(101)]
    one = held_out_texts(texts, 0.05, seed=3)
    other = held_out_texts([*reversed(texts), *texts, ""], 0.05, seed=3)
    assert [one(text) for text in texts] == [other(text) for text in texts]
    assert [one(text) for text in texts] != [held_out_texts(texts, 0.05, seed=4)(text) for text in texts]


def test_of_many_texts_only_the_first_are_read() -> None:
    held_out = held_out_texts((f"text {number}" for number in counting()), 1.0, seed=1)
    assert held_out("text")
