"""Batches that cannot be trained on: a gradient that is not finite, and too little memory.

The faults are real: a weight of NaN for one token, and allocations that the system refuses.
"""

import gc
import os
import resource
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import torch
from backwards import (
    BOS,
    EOS,
    PAD,
    Silent,
    V,
    contents,
    fit,
    pairs_of,
    small_transformer,
    strings,
    training_in,
)

from multihead.batch import PairBatch
from multihead.data.batches import sequential_batches
from multihead.data.store import StoreWriter, TokenStore
from multihead.errors import UserError
from multihead.models.transformer import Transformer
from multihead.nn.losses import Loss
from multihead.run import Run
from multihead.training import recovery
from multihead.training.update import rows, split

BAD = [4, 5, 6, 7, 8, 9, 10, 4, 4, 4, 4]
"""A sentence that no other equals."""


class Poisoned(Transformer):
    """A loss that is infinite for one sentence, as the logarithm of a probability of 0 is."""

    def loss(self, batch: PairBatch, step: int) -> Loss:
        found = super().loss(batch, step)
        width = min(batch.source.ids_BS.shape[1], len(BAD))
        same = (batch.source.ids_BS[:, :width] == torch.tensor(BAD[:width])).all(1) & (width == len(BAD))
        factor = torch.where(same.any(), torch.inf, 1.0)
        term = found["loss"]
        return {**found, "loss": type(term)(term.weight, term.sum * factor, term.per)}


def poisoned() -> Poisoned:
    torch.manual_seed(5)
    return Poisoned(small_transformer().settings)


def corpus(folder: Path) -> TokenStore:
    """A store of strings with the poisoned one in line 1017."""
    pairs = [*strings(97, 9, seed=1), BAD, *strings(101, 8, seed=3)]
    with StoreWriter(folder, (V, V)) as writer:
        for number, string in enumerate(pairs):
            writer.add(string, string[::-1], 1017 if string is BAD else 7 * number + 1)
    return TokenStore(folder)


def test_an_error_names_the_line_whose_loss_is_not_finite(tmp_path: Path) -> None:
    training = training_in(tmp_path / "run", poisoned(), corpus(tmp_path / "store"))
    with pytest.raises(UserError) as caught:
        fit(training)
    fact = caught.value.fact
    assert fact.startswith("training diverged: the gradient of update ")
    assert fact.endswith("; its batch: pair 1017")
    assert "skip_bad" in str(caught.value)


def test_all_lines_of_a_batch_are_named_where_no_row_is_to_blame(tmp_path: Path) -> None:
    model = small_transformer()
    with torch.no_grad():
        next(model.parameters())[PAD + 4] = torch.nan  # of a letter that many rows have
        model.train()
    training = training_in(tmp_path / "run", model, corpus(tmp_path / "store"))
    with pytest.raises(UserError, match=r"update 1 is not finite; its batch: pair \d+, .*and \d+ more"):
        fit(training)


def test_bad_batches_are_skipped_and_logged_and_a_resume_skips_the_same(tmp_path: Path) -> None:
    settings: dict[str, object] = {"skip_bad": 9, "steps": 30, "log_every": 1}
    pairs = corpus(tmp_path / "store")
    whole = fit(training_in(tmp_path / "whole", poisoned(), pairs, settings=settings))
    assert whole.status == "finished"
    events = [event for event in Run(tmp_path / "whole").metrics() if event["event"] == "skipped"]
    assert len(events) == whole.progress.skipped > 1
    assert all(event["examples"] == ["pair 1017"] for event in events)
    assert all(torch.isfinite(w).all() for w in Run(tmp_path / "whole").load_tensors("best")[0].values())

    class Stops(Silent):
        def on_step(self, step: int) -> None:
            if step == events[0]["step"] + 1:
                raise KeyboardInterrupt

    for observer in (Stops(), Silent()):
        training = training_in(tmp_path / "parts", poisoned(), pairs, settings=settings, observer=observer)
        with suppress(KeyboardInterrupt):
            fit(training)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_one_bad_batch_too_many_ends_the_training(tmp_path: Path) -> None:
    settings: dict[str, object] = {"skip_bad": 1, "steps": 60}
    training = training_in(tmp_path / "run", poisoned(), corpus(tmp_path / "store"), settings=settings)
    with pytest.raises(UserError, match="pair 1017"):
        fit(training)
    assert training.progress.skipped == 1


# --- memory -------------------------------------------------------------------------------------------


def test_parts_are_all_rows_in_order_and_their_gradients_add_up_to_the_batch_s() -> None:
    data = pairs_of(strings(29, 7, seed=4))
    batches = sequential_batches(data, batch_tokens=61, pad_id=PAD, bos_id=BOS, eos_id=EOS)
    _, training_batch = next(iter(batches))
    found = list(split(training_batch, 3))
    count = rows(training_batch)
    assert len(found) == 3
    assert {rows(part) for part in found} <= {count // 3, count // 3 + 1}
    ids = torch.cat([part.source.ids_BS for part in found])  # type: ignore[attr-defined]
    assert torch.equal(ids, training_batch.source.ids_BS)
    model = small_transformer(dropout=0.0)
    gradients = []
    for parts in (1, 3):
        model.zero_grad()
        for part in split(training_batch, parts):
            assert isinstance(part, PairBatch)
            model.loss(part, 1)["loss"].sum.backward()  # type: ignore[no-untyped-call]
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    torch.testing.assert_close(gradients[0], gradients[1])


class Hungry(Transformer):
    """Takes 8 MB of memory for each row of a batch, or another number of bytes."""

    row_bytes = 8 << 20

    def loss(self, batch: PairBatch, step: int) -> Loss:
        if self.training:
            torch.empty(len(batch.target_lengths_B) * self.row_bytes // 4).fill_(1.0)
        return super().loss(batch, step)


def hungry(row_bytes: int = Hungry.row_bytes) -> Hungry:
    torch.manual_seed(5)
    model = Hungry(small_transformer(dropout=0.0).settings)
    model.row_bytes = row_bytes
    return model


def in_little_memory(megabytes: int, work: Callable[[], None]) -> int:
    """Run work in a copy of this process that may take so many megabytes more; return its exit code."""
    gc.collect()
    if not (child := os.fork()):
        try:
            lines = Path("/proc/self/status").read_text().split("\n")
            own = next(int(line.split()[1]) for line in lines if line.startswith("VmData")) << 10
            resource.setrlimit(resource.RLIMIT_DATA, (own + (megabytes << 20), resource.RLIM_INFINITY))
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")


@LINUX
def test_a_batch_that_memory_cannot_hold_is_split_with_the_same_effective_batch(tmp_path: Path) -> None:
    # Both in copies of this process: memory that the first had freed here would be enough for the second.

    def work(name: str) -> None:
        fit(training_in(tmp_path / name, hungry()))

    assert in_little_memory(100_000, partial(work, "whole")) == 0
    assert in_little_memory(160, partial(work, "split")) == 0
    whole, parts = (Run(tmp_path / name) for name in ("whole", "split"))
    # A later batch may be larger still: the last event has the number of parts that the run ends with.
    *_, event = (event for event in parts.metrics() if event["event"] == "memory")
    assert event["parts"] in (2, 4, 8)
    states = [run.load_tensors(run.states()[-1]) for run in (whole, parts)]
    assert [meta["parts"] for _, meta in states] == [1, event["parts"]]
    for name, weight in states[0][0].items():
        # A bias of the keys has no gradient but rounding errors, which Adam scales up.
        if name.startswith("model.") and not name.endswith("w_k.bias"):
            torch.testing.assert_close(weight, states[1][0][name], atol=1e-3, rtol=1e-2)


@LINUX
def test_a_single_row_that_memory_cannot_hold_ends_the_training_with_advice(tmp_path: Path) -> None:
    def work() -> None:
        with pytest.raises(UserError) as caught:
            fit(training_in(tmp_path / "run", hungry(2 << 30)))  # more than earlier tests have left free
        assert "there is not enough memory for one example" in str(caught.value)
        assert "training.batch_tokens" in str(caught.value)

    assert in_little_memory(5, work) == 0


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory."), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_only_a_lack_of_memory_is_taken_for_one(error: BaseException, seen: bool) -> None:
    assert recovery.is_out_of_memory(error) is seen
