"""Perturbed sentences: the size of the change, and its reproducibility."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.text.perturb import Perturbation, permute, perturb

WORDS = [f"w{number}" for number in range(101)]
TEXT = " ".join(WORDS)
KINDS: list[Perturbation] = ["trim", "omit", "permute"]

texts = st.lists(st.text("abc", min_size=1), max_size=13).map(" ".join)
rates = st.floats(0, 1)


@pytest.mark.parametrize(("rate", "left"), [(0.2, 81), (0.5, 51), (0.99, 1), (1.0, 1)])
def test_trimming_removes_the_end(rate: float, left: int) -> None:
    assert perturb(TEXT, "trim", rate).split() == WORDS[:left]


def test_omitting_leaves_gaps_and_keeps_the_order() -> None:
    left = perturb(TEXT, "omit", 0.2).split()
    assert left == [word for word in WORDS if word in left]
    assert 71 <= len(left) <= 91


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2])
def test_permuting_moves_no_word_further_than_allowed(rate: float) -> None:
    mixed = perturb(TEXT, "permute", rate).split()
    assert sorted(mixed) == sorted(WORDS)
    moves = [abs(place - WORDS.index(word)) for place, word in enumerate(mixed)]
    assert 0 < max(moves) <= round(rate * 101)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 999))
def test_a_permutation_keeps_every_word_within_the_distance(count: int, furthest: int, seed: int) -> None:
    words = [str(number) for number in range(count)]
    mixed = permute(words, furthest, random.Random(seed))
    assert sorted(mixed) == sorted(words)
    assert all(abs(place - int(word)) <= furthest for place, word in enumerate(mixed))


@given(texts, st.sampled_from(KINDS), rates, st.integers(0, 9))
def test_a_perturbation_adds_nothing_leaves_something_and_is_reproducible(
    text: str, how: Perturbation, rate: float, number: int
) -> None:
    worse = perturb(text, how, rate, seed=3, number=number)
    assert perturb(text, how, rate, seed=3, number=number) == worse
    assert bool(worse) == bool(text)
    rest = text.split()
    for word in worse.split():
        rest.remove(word)


@given(texts, st.sampled_from(KINDS))
def test_rate_zero_changes_nothing(text: str, how: Perturbation) -> None:
    assert perturb(text, how, 0.0) == text


def test_sentences_and_seeds_are_perturbed_differently() -> None:
    outcomes = {perturb(TEXT, "omit", 0.5, seed=seed, number=number) for seed in (1, 2) for number in (1, 2)}
    assert len(outcomes) == 4
