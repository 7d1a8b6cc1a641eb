"""Batch plans, collation, and the stream that resumes from a position."""

import hashlib
import itertools
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from typing import TypedDict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from multihead.batch import PairBatch
from multihead.data import plan as planning
from multihead.data.batches import (
    BatchStream,
    Ids,
    PairList,
    Shapes,
    StreamPosition,
    collate,
    epoch_plan,
    sequential_batches,
)

PAD, BOS, EOS = 0, 2, 3


class Symbols(TypedDict):
    pad_id: int
    bos_id: int
    eos_id: int


SYMBOLS: Symbols = {"pad_id": PAD, "bos_id": BOS, "eos_id": EOS}

START = StreamPosition()

lengths = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=200)
heavy_tailed = st.lists(st.tuples(*[st.integers(0, 20).map(lambda bits: (1 << bits) - 1)] * 2), max_size=200)


def arrays(pairs: list[tuple[int, int]]) -> tuple[planning.Lengths, planning.Lengths]:
    both = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def some_pairs(count: int, seed: int = 5) -> PairList:
    """Distinguishable pairs: the first id of a source is 10 + its index."""
    rng = np.random.default_rng(seed)
    sources = [[10 + i, *rng.integers(10, 99, rng.integers(0, 13)).tolist()] for i in range(count)]
    targets = [rng.integers(10, 99, rng.integers(1, 17)).tolist() for _ in range(count)]
    return PairList(sources, targets)


def equal(one: PairBatch, two: PairBatch) -> bool:
    return (
        torch.equal(one.source.ids_BS, two.source.ids_BS)
        and torch.equal(one.source.lengths_B, two.source.lengths_B)
        and torch.equal(one.target_BT, two.target_BT)
        and torch.equal(one.target_lengths_B, two.target_lengths_B)
        and one.tokens == two.tokens
    )


@given(lengths | heavy_tailed, st.integers(1, 300), st.integers(0, 2**40), st.integers(0, 50))
def test_every_pair_is_in_exactly_one_batch(
    pairs: list[tuple[int, int]], budget: int, seed: int, epoch: int
) -> None:
    batches = epoch_plan(*arrays(pairs), budget, seed, epoch)
    assert sorted(itertools.chain(*(batch.tolist() for batch in batches))) == list(range(len(pairs)))
    assert all(len(batch) for batch in batches)


@given(lengths | heavy_tailed, st.integers(1, 300))
def test_a_batch_of_several_pairs_keeps_to_the_budget_on_both_sides(
    pairs: list[tuple[int, int]], budget: int
) -> None:
    source, target = arrays(pairs)
    for batch in epoch_plan(source, target, budget, 1, 0):
        if len(batch) > 1:
            assert (target[batch] + 1).sum() <= budget
            assert len(batch) * (source[batch].max() + 1) <= 2 * budget
            assert len(batch) * (target[batch].max() + 1) <= 2 * budget


def test_one_long_source_is_a_batch_of_its_own() -> None:
    source = np.array([3] * 50 + [5000], dtype=np.int32)
    target = np.full(51, 3, dtype=np.int32)
    batches = epoch_plan(source, target, 400, 1, 0)
    assert [50] in [batch.tolist() for batch in batches]


def test_epochs_and_seeds_differ_in_their_batches_not_only_in_the_order() -> None:
    pairs = some_pairs(997)

    def batches(seed: int, epoch: int) -> set[frozenset[int]]:
        plan = epoch_plan(pairs.source_lengths, pairs.target_lengths, 101, seed, epoch)
        return {frozenset(batch.tolist()) for batch in plan}

    first = batches(1, 0)
    for other in (batches(1, 1), batches(2, 0)):
        assert len(first & other) < len(first) / 4


def test_the_order_of_batches_does_not_follow_their_lengths() -> None:
    pairs = some_pairs(997)
    plan = epoch_plan(pairs.source_lengths, pairs.target_lengths, 101, 1, 0)
    widths = [pairs.target_lengths[batch].max() for batch in plan]
    assert abs(np.corrcoef(widths, np.arange(len(widths)))[0, 1]) < 0.3


def test_the_plan_is_the_same_in_another_process() -> None:
    program = (
        "import hashlib, numpy as np; from multihead.data.plan import epoch_plan;"
        "n = np.arange(1009, dtype=np.int32) * 7919;"
        "plan = epoch_plan(n % 31, n % 29, 127, 11, 13);"
        "print(hashlib.sha256(b''.join(b.tobytes() + b'|' for b in plan)).hexdigest())"
    )
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    n = np.arange(1009, dtype=np.int32) * 7919
    here = b"".join(batch.tobytes() + b"|" for batch in epoch_plan(n % 31, n % 29, 127, 11, 13))
    assert there.stdout.strip() == hashlib.sha256(here).hexdigest()


def test_chunks_are_batched_separately_and_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "CHUNK", 37)
    pairs = some_pairs(101)
    plan = epoch_plan(pairs.source_lengths, pairs.target_lengths, 53, 1, 0)
    assert sorted(np.concatenate(plan).tolist()) == list(range(101))


def test_pairs_of_one_length_give_batches_of_nearly_one_size() -> None:
    same = np.full(1001, 9, dtype=np.int32)
    sizes = [len(batch) for batch in epoch_plan(same, same, 1000, 1, 0)]
    assert max(sizes) <= 100
    assert min(sizes) >= 50


def test_collate_by_hand() -> None:
    batch = collate([[7, 8], [9]], [[4], [5, 6, 7]], **SYMBOLS)
    assert batch.source.ids_BS.tolist() == [[7, 8, EOS], [9, EOS, PAD]]
    assert batch.source.lengths_B.tolist() == [3, 2]
    assert batch.target_BT.tolist() == [[BOS, 4, EOS, PAD, PAD], [BOS, 5, 6, 7, EOS]]
    assert batch.target_in.tolist() == [[BOS, 4, EOS, PAD], [BOS, 5, 6, 7]]
    assert batch.target_out.tolist() == [[4, EOS, PAD, PAD], [5, 6, 7, EOS]]
    assert batch.target_lengths_B.tolist() == [2, 4]
    assert batch.tokens == 6
    assert batch.source.ids_BS.dtype == batch.target_BT.dtype == torch.int64


@given(
    st.lists(st.lists(st.integers(4, 99), max_size=23), min_size=1, max_size=5), st.sampled_from([1, 4, 8])
)
def test_widths_are_the_smallest_multiple_that_fits(rows: list[list[int]], multiple: int) -> None:
    batch = collate(rows, rows[::-1], **SYMBOLS, shapes=Shapes(multiple))
    longest = max(map(len, rows)) + 1
    for width in (batch.source.ids_BS.shape[1], batch.target_in.shape[1]):
        assert width % multiple == 0
        assert longest <= width < longest + multiple


@settings(max_examples=25)
@given(st.integers(0, 60), st.integers(0, 99))
def test_a_stream_resumed_from_any_position_equals_an_uninterrupted_one(cut: int, seed: int) -> None:
    pairs = some_pairs(71)
    stream = partial(BatchStream, pairs, batch_tokens=61, seed=seed, **SYMBOLS)
    whole = list(itertools.islice(stream(), cut + 20))
    position = whole[cut - 1][1] if cut else StreamPosition()
    rest = list(itertools.islice(stream(position=position), 20))
    for (expected, after), (batch, there) in zip(whole[cut:], rest, strict=True):
        assert equal(batch, expected)
        assert there == after
    assert whole[-1][1].epoch >= 1


def test_an_epoch_of_the_stream_has_every_pair_once() -> None:
    pairs = some_pairs(43)
    seen: list[int] = []
    for batch, after in BatchStream(pairs, batch_tokens=59, seed=1, **SYMBOLS):
        seen += (batch.source.ids_BS[:, 0] - 10).tolist()
        if after == StreamPosition(epoch=1):
            break
    assert sorted(seen) == list(range(43))


def test_reencoding_receives_ids_epoch_and_index_of_the_pair() -> None:
    pairs = some_pairs(7)
    calls: list[tuple[Ids, int, int]] = []

    def encode(sentences: Sequence[Ids], keys: Sequence[tuple[int, int]]) -> list[Ids]:
        calls.extend((ids, *key) for ids, key in zip(sentences, keys, strict=True))
        return [[1000 + epoch, index] for epoch, index in keys]

    stream = BatchStream(pairs, batch_tokens=10_000, seed=1, **SYMBOLS, source_encode=encode)
    (batch, _), (again, _) = itertools.islice(stream, 2)
    assert sorted(batch.source.ids_BS[:, :2].tolist()) == [[1000, i] for i in range(7)]
    assert sorted(again.source.ids_BS[:, :2].tolist()) == [[1001, i] for i in range(7)]
    assert all(ids == pairs.source(index) for ids, _, index in calls)


def test_the_largest_batch_has_the_most_tokens_padding_included() -> None:
    pairs = some_pairs(97)
    stream = BatchStream(pairs, batch_tokens=83, seed=1, **SYMBOLS)

    def places(batch: PairBatch) -> int:
        return batch.source.ids_BS.numel() + batch.target_in.numel()

    of_epoch = [places(stream.batch(rows, 0)) for rows in stream.plan(0)]
    assert places(stream.largest()) == max(of_epoch)


@given(lengths, st.integers(1, 99))
def test_sequential_batches_can_be_restored_to_order(pairs: list[tuple[int, int]], budget: int) -> None:
    texts = PairList([[10 + i] * (s + 1) for i, (s, _) in enumerate(pairs)], [[7] * t for _, t in pairs])
    out = np.full(len(pairs), -1)
    for indices, batch in sequential_batches(texts, batch_tokens=budget, **SYMBOLS):
        out[indices] = batch.source.ids_BS[:, 0]
    assert out.tolist() == [10 + i for i in range(len(pairs))]
