"""Splits of a corpus that share no sentence, against plain loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from multihead.data.splitting import TEST, TRAIN, VALID, connected_groups, split

Pairs = list[tuple[int, int]]
pairs = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=23)


def groups_of(pairs: Pairs) -> list[int]:
    sources, targets = (np.array(side, dtype=np.uint64) for side in zip(*pairs, strict=True))
    return [int(group) for group in connected_groups(sources, targets)]


def spread(pairs: Pairs) -> list[int]:
    """Number the pairs, then give each the smallest number of any it shares a side with, until all agree."""
    numbers = list(range(len(pairs)))
    for _ in pairs:
        for i, (a, b) in enumerate(pairs):
            numbers[i] = min(n for n, (c, d) in zip(numbers, pairs, strict=True) if a == c or b == d)
    return [sorted(set(numbers)).index(number) for number in numbers]


@given(pairs)
def test_pairs_that_share_a_side_are_in_one_group(pairs: Pairs) -> None:
    assert groups_of(pairs) == spread(pairs)


def test_equal_sentences_on_different_sides_connect_nothing() -> None:
    assert groups_of([(5, 7), (7, 5)]) == [0, 1]


@given(pairs, st.integers(0, 7), st.integers(0, 7), st.integers(0, 3))
def test_splits_share_no_group_and_stay_within_their_size(
    pairs: Pairs, valid: int, test: int, seed: int
) -> None:
    groups = np.array(groups_of(pairs))
    parts = split(groups, valid=valid, test=test, seed=seed)
    assert np.count_nonzero(parts == VALID) <= valid
    assert np.count_nonzero(parts == TEST) <= test
    for group in set(groups.tolist()):
        assert len(set(parts[groups == group].tolist())) == 1


def test_single_pairs_fill_both_splits_exactly_and_by_the_seed() -> None:
    groups = np.arange(101)
    first, again, other = (split(groups, valid=7, test=11, seed=seed) for seed in (3, 3, 4))
    assert [np.count_nonzero(first == part) for part in (TRAIN, VALID, TEST)] == [83, 7, 11]
    assert first.tolist() == again.tolist() != other.tolist()


def test_a_group_larger_than_a_split_stays_in_training() -> None:
    groups = np.array([0] * 13 + [1, 2, 3])
    parts = split(groups, valid=1, test=2, seed=1)
    assert set(parts[:13].tolist()) == {TRAIN}
    assert np.count_nonzero(parts) == 3
