"""Selection on disk, in chunks, equals selection in memory."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from multihead.data import plan, selection, spool
from multihead.data.hashes import sentence_hash
from multihead.data.plan import first_of_shuffled, shuffle_indices
from multihead.data.selection import DROPPED, TRAIN, VALID, select
from multihead.data.spool import HashSpool, UnmarkedHashes, counts
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings

hashes = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9) | st.just(2**64 - 1), max_size=97)
Pair = tuple[str, str]


@pytest.fixture(autouse=True, scope="module")
def small_chunks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (spool, selection, plan):
            patch.setattr(module, "CHUNK", 16)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spool")


@given(values=hashes)
def test_repeated_hashes_are_found_by_brute_force(folder: Path, values: list[int]) -> None:
    with HashSpool(folder) as found:
        found.extend(values)
        marks = found.repeat().slice(0, len(values)).tolist()
        assert marks == [value in values[:place] for place, value in enumerate(values)]
        kept = [int(value) for chunk in UnmarkedHashes(found, found.repeat()).chunks() for value in chunk]
        assert kept == list(dict.fromkeys(values))
        assert len(found) == len(values)


@given(values=hashes)
def test_distinct_hashes_are_saved_as_numpy_saves_them(folder: Path, values: list[int]) -> None:
    expected = io.BytesIO()
    np.save(expected, np.unique(np.array(values, dtype=np.uint64)), allow_pickle=False)
    with HashSpool(folder) as found:
        found.extend(values)
        found.save_unique(folder / "saved.npy")
    assert (folder / "saved.npy").read_bytes() == expected.getvalue()


@given(values=hashes, asked=st.lists(st.integers(0, 9), max_size=7))
def test_occurrences_are_counted_by_brute_force(folder: Path, values: list[int], asked: list[int]) -> None:
    with HashSpool(folder) as found:
        found.extend(values)
        counted = counts(UnmarkedHashes(found, None), np.array(asked, dtype=np.uint64)).tolist()
    assert counted == [values.count(value) for value in asked]


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 9))
def test_the_first_of_a_permutation_need_not_hold_it(count: int, first: int, seed: int) -> None:
    expected = shuffle_indices(count, seed, "held out")[:first].tolist()
    assert first_of_shuffled(count, first, seed, "held out").tolist() == expected


pair = st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda p: (f"s{p[0]}" * (p[0] > 0), f"t{p[1]}"))


@given(
    pairs=st.lists(pair, max_size=150),
    fraction=st.sampled_from([0.01, 0.2]),
    seed=st.integers(0, 9),
    duplicates=st.booleans(),
    hold_out=st.booleans(),
)
def test_selection_equals_that_in_memory(
    folder: Path, pairs: list[Pair], fraction: float, seed: int, duplicates: bool, hold_out: bool
) -> None:
    data = DataSettings(seed=seed, valid_fraction=fraction, drop_duplicates=not duplicates, cache=str(folder))
    expected = in_memory(pairs, data, hold_out=hold_out)
    try:
        found = select(pairs, data, hold_out=hold_out)
    except UserError:
        assert not (expected == TRAIN).any()
        return
    assert found.roles.tolist() == expected.tolist()
    for role in (DROPPED, TRAIN, VALID):
        assert list(found.mask(role)) == [int(own == role) for own in expected]
        assert found.count(role) == int((expected == role).sum())


def in_memory(pairs: list[Pair], data: DataSettings, *, hold_out: bool) -> NDArray[np.uint8]:
    """Return the roles, with all pairs in memory and one at a time."""
    roles = [TRAIN if source and target else DROPPED for source, target in pairs]
    if data.drop_duplicates:
        for place, one in enumerate(pairs):
            if one in pairs[:place]:
                roles[place] = DROPPED
    left = [place for place, role in enumerate(roles) if role == TRAIN]
    if hold_out and left:
        sides = [[sentence_hash(pairs[place][side]) for place in left] for side in (0, 1)]
        count = max(1, min(max(50, min(round(data.valid_fraction * len(left)), 2000)), len(left) // 2))
        candidates = shuffle_indices(len(left), data.seed, "held out")[: 20 * count].tolist()
        frequency = {c: sum(side.count(side[c]) for side in sides) for c in candidates}
        chosen = sorted(candidates, key=lambda c: frequency[c])[:count]  # a stable sort
        held = [{side[c] for c in chosen} for side in sides]
        for number, place in enumerate(left):
            if number in chosen:
                roles[place] = VALID
            elif any(side[number] in own for side, own in zip(sides, held, strict=True)):
                roles[place] = DROPPED
    return np.array(roles, dtype=np.uint8)
