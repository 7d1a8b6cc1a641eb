"""Held-out pairs, sentence hashes, and evenly spaced samples of a corpus."""

import random
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.data import plan, selection, spool
from multihead.data.closed_sets import CLOSED
from multihead.data.hashes import are_in, count_in, first_occurrences, sentence_hash
from multihead.data.selection import DROPPED, TRAIN, VALID, Selection, select
from multihead.data.vocabularies import evenly_spaced
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings

Pair = tuple[str, str]
hashes = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=50)


def chosen(pairs: list[Pair], roles: Selection, role: int) -> list[Pair]:
    return [pair for pair, own in zip(pairs, roles.roles, strict=True) if own == role]


@given(st.integers(2, 300), st.integers(1, 200), st.integers(1, 200), st.integers(0, 99))
def test_no_sentence_of_either_side_is_shared_with_training(
    count: int, sources: int, targets: int, seed: int
) -> None:
    rng = random.Random(seed)
    pairs = [(f"s{rng.randrange(sources)}", f"t{rng.randrange(targets)}") for _ in range(count)]
    try:
        found = select(pairs, DataSettings(seed=seed), hold_out=True)
    except UserError:
        return  # too alike: see the next tests for when that may happen
    train, valid = chosen(pairs, found, TRAIN), chosen(pairs, found, VALID)
    unique = len(set(pairs))
    for side in (0, 1):
        if len({pair[side] for pair in pairs}) > CLOSED * unique:
            assert not {pair[side] for pair in train} & {pair[side] for pair in valid}
    assert len(train) == len(set(train))
    assert len(valid) == min(50, unique // 2)
    assert len(train) + len(valid) + found.shared == unique == found.report.kept


@pytest.mark.parametrize(
    ("total", "fraction", "expected"),
    [
        (199, 0.01, 50),
        (60, 0.01, 30),
        (2, 0.01, 1),
        (10_007, 0.01, 100),
        (10_007, 0.9, 2000),
        (1999, 0.1, 200),
    ],
)
def test_one_per_cent_is_held_out_within_limits(total: int, fraction: float, expected: int) -> None:
    apart = [(f"s{i}", f"t{i}") for i in range(total)]
    roles = select(apart, DataSettings(valid_fraction=fraction), hold_out=True).roles
    assert np.count_nonzero(roles == VALID) == expected
    assert np.count_nonzero(roles == DROPPED) == 0


def test_pairs_that_share_a_sentence_are_preferably_kept_for_training() -> None:
    sources, targets = [7, 7, 7, *range(100, 200)], [1, 2, 3, *range(100, 198), 5, 5]
    pairs = [(f"s{source}", f"t{target}") for source, target in zip(sources, targets, strict=True)]
    for seed in range(20):
        roles = select(pairs, DataSettings(seed=seed), hold_out=True).roles
        assert np.count_nonzero(roles == VALID) == 50
        assert set(roles[[0, 1, 2, -2, -1]]) == {TRAIN}


def test_training_pairs_that_share_a_sentence_with_held_out_ones_are_dropped_and_counted() -> None:
    pairs = [(f"s{i // 2}", f"t{i}") for i in range(200)]
    found = select(pairs, DataSettings(seed=3), hold_out=True)
    assert found.count(VALID) == 50
    assert 0 < found.shared <= 50
    assert found.count(TRAIN) == 150 - found.shared


LABELS = ["positive"] * 5 + ["negative"] * 2 + ["neutral"]


@pytest.mark.parametrize("turned", [False, True])
def test_every_label_stays_in_training_and_is_held_out(turned: bool) -> None:
    """Labels, canned answers: to hold one out would be to train without it."""
    pairs = [(f"s{i}", LABELS[i % 8]) for i in range(2003)]
    pairs = [pair[::-1] for pair in pairs] if turned else pairs
    found = select(pairs, DataSettings(valid_fraction=0.05), hold_out=True)
    assert (found.count(VALID), found.shared) == (100, 0)
    for role in (TRAIN, VALID):
        chosen = Counter(pairs[i][not turned] for i in np.flatnonzero(found.roles == role))
        assert chosen.keys() == set(LABELS)
        assert chosen["positive"] > chosen["negative"] > chosen["neutral"]


def test_where_both_sides_are_closed_sets_only_the_pairs_are_kept_apart() -> None:
    pairs = [(f"s{i % 31}", f"t{i % 29}") for i in range(31 * 29)] * 2
    found = select(pairs, DataSettings(drop_duplicates=False), hold_out=True)
    valid, train = ({pairs[i] for i in np.flatnonzero(found.roles == role)} for role in (VALID, TRAIN))
    assert len(valid) >= 25
    assert not valid & train
    assert len(train) == 31 * 29 - len(valid)
    assert found.shared > 0  # the other copies of what is held out


def test_held_out_pairs_depend_on_the_seed_alone() -> None:
    pairs = [(f"s{i}", f"t{i}") for i in range(997)]
    one, same, other = (select(pairs, DataSettings(seed=seed), hold_out=True) for seed in (1, 1, 2))
    assert bytes(one.mask(VALID)) == bytes(same.mask(VALID)) != bytes(other.mask(VALID))


def test_held_out_pairs_come_from_all_parts_of_the_corpus() -> None:
    apart = [(f"s{i}", f"t{i}") for i in range(10_007)]
    places = np.flatnonzero(select(apart, DataSettings(), hold_out=True).roles == VALID)
    assert all(np.count_nonzero(places // 2502 == quarter) >= 10 for quarter in range(4))


@given(hashes)
def test_first_occurrences_by_brute_force(values: list[int]) -> None:
    expected = [value not in values[:place] for place, value in enumerate(values)]
    assert first_occurrences(np.array(values, dtype=np.uint64)).tolist() == expected


@given(hashes.filter(len), hashes)
def test_counts_by_brute_force(known: list[int], asked: list[int]) -> None:
    in_order, queries = np.array(sorted(known), dtype=np.uint64), np.array(asked, dtype=np.uint64)
    assert count_in(in_order, queries).tolist() == [known.count(value) for value in asked]
    assert are_in(in_order, queries).tolist() == [value in known for value in asked]


def test_the_hash_of_a_sentence_is_the_same_everywhere() -> None:
    assert sentence_hash("Zweiundvierzig 한국어 🙂") == 10117519040515583288  # b2sum -l 64, read backwards


@given(st.integers(1, 400), st.integers(1, 300), st.sampled_from([7, 101, 1 << 17]), st.integers(0, 99))
def test_what_max_pairs_keeps_does_not_depend_on_chunks(count: int, most: int, chunk: int, seed: int) -> None:
    roles = np.random.default_rng(seed).integers(0, 3, count).astype(np.uint8)
    train = np.flatnonzero(roles == TRAIN)
    kept = np.linspace(0, len(train) - 1, min(most, len(train))).round().astype(np.intp)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "CHUNK", chunk)
        assert list(selection._surplus(roles, most)) == np.delete(train, kept).tolist()


@pytest.mark.parametrize("most", [0, 1013])
def test_selection_takes_at_most_two_bytes_a_pair(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    for module in (selection, spool, plan):
        monkeypatch.setattr(module, "CHUNK", 1 << 5)  # so that there are as many buckets from the start
    data = DataSettings(valid_fraction=1e-9, max_pairs=most)

    def peak(count: int) -> int:
        pairs = ((f"s{number}", f"t{number}") for number in range(count))
        tracemalloc.start()
        try:
            select(pairs, data, hold_out=True)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1 << 11)  # caches
    fewer, more = peak(1 << 12), peak(1 << 14)
    assert (more - fewer) / ((1 << 14) - (1 << 12)) <= 2


@given(st.integers(0, 300), st.integers(1, 400))
def test_a_sample_has_the_requested_size_and_is_evenly_spaced(total: int, most: int) -> None:
    numbers = [int(source) for source, _ in evenly_spaced(((str(i), "") for i in range(total)), total, most)]
    assert len(numbers) == min(total, most)
    gaps = np.diff(numbers)
    assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize("hold_out", [False, True])
@pytest.mark.parametrize("most", [1, 37, 400, 9999])
def test_max_pairs_keeps_evenly_spaced_training_pairs(most: int, hold_out: bool) -> None:
    pairs = [(f"s{number}", f"t{number}") for number in range(500)]
    data = DataSettings(max_pairs=most)
    everything = select(pairs, DataSettings(), hold_out=hold_out)
    some = select(pairs, data, hold_out=hold_out)
    there = everything.count(TRAIN)
    assert some.count(TRAIN) == min(most, there)
    assert some.count(VALID) == everything.count(VALID)
    assert some.report.kept == everything.report.kept - (there - some.count(TRAIN))
    if most == 37:
        places = np.flatnonzero(some.roles == TRAIN)
        assert np.diff(places).max() <= 2 * 500 / 37
        assert (places[0], places[-1]) == (0, 499) or hold_out
        assert "dropped: beyond data.max_pairs (first: pair " in str(some.report)
