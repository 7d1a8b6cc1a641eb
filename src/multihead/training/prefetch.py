"""Batches made ahead by other processes, where a GPU would have to wait for them."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from multiprocessing import get_all_start_methods

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from multihead.batch import Batch
from multihead.cores import usable_cores
from multihead.data.stream import Position, Stream

MOST_WORKERS = 16
AHEAD = 4
"""Batches that each of them keeps ready."""

Fed = tuple[Batch, Position]


class _Shared(IterableDataset[Fed]):
    """Of W workers each makes every W-th batch, and the loader takes them in turn: the order stays."""

    def __init__(self, stream: Stream[Batch]) -> None:
        self.stream = stream

    def __iter__(self) -> Iterator[Fed]:
        worker = get_worker_info()
        assert worker is not None
        torch.set_num_threads(1)
        return self.stream.shard(worker.id, worker.num_workers)


@contextmanager
def fed(stream: Stream[Batch], device: torch.device) -> Iterator[Iterator[Fed]]:
    """Yield the stream's batches with their positions: as they are asked for, or for a GPU made ahead.

    On a CPU nothing could be won: the model's products use every core.
    """
    if device.type != "cuda" or "fork" not in get_all_start_methods():
        yield iter(stream)
        return
    stream.planned(stream.position.epoch)  # now, not in each of them
    workers = max(1, min(MOST_WORKERS, usable_cores() - 1))
    loader = DataLoader(
        _Shared(stream),
        batch_size=None,
        num_workers=workers,
        prefetch_factor=AHEAD,
        pin_memory=True,
        multiprocessing_context="fork",  # what the stream reads from is there already
    )
    batches = _handed_on(iter(loader))
    try:
        yield batches
    finally:
        batches.close()  # lets go of the loader's iterator, which ends the workers


def _handed_on(made: Iterator[Fed]) -> Generator[Fed, None, None]:
    yield from made
