"""Prefetching of batches by worker processes, so that a GPU does not wait for them."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from multiprocessing import get_all_start_methods

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from multihead.batch import Batch
from multihead.data.stream import Stream, StreamPosition
from multihead.system.cores import usable_cores

MAX_WORKERS = 16
PREFETCH_FACTOR = 4
"""Batches that each worker keeps ready."""

Item = tuple[Batch, StreamPosition]


class _Sharded(IterableDataset[Item]):
    """A stream shared by W workers: each makes every W-th batch, and the loader restores their order."""

    def __init__(self, stream: Stream[Batch]) -> None:
        self.stream = stream

    def __iter__(self) -> Iterator[Item]:
        worker = get_worker_info()
        assert worker is not None
        torch.set_num_threads(1)
        return self.stream.shard(worker.id, worker.num_workers)


@contextmanager
def prefetch(stream: Stream[Batch], device: torch.device) -> Iterator[Iterator[Item]]:
    """Yield an iterator over the stream's batches and positions, prefetched for a GPU.

    On a CPU nothing is prefetched, because the model's matrix products use every core.
    """
    if device.type != "cuda" or "fork" not in get_all_start_methods():
        yield iter(stream)
        return
    stream.cached_plan(stream.position.epoch)  # once, before the workers fork
    workers = max(1, min(MAX_WORKERS, usable_cores() - 1))
    loader = DataLoader(
        _Sharded(stream),
        batch_size=None,
        num_workers=workers,
        prefetch_factor=PREFETCH_FACTOR,
        pin_memory=True,
        multiprocessing_context="fork",  # workers inherit the open data
    )
    batches = _closable(iter(loader))
    try:
        yield batches
    finally:
        batches.close()  # drops the loader's iterator, which ends the workers


def _closable(items: Iterator[Item]) -> Generator[Item, None, None]:
    yield from items
