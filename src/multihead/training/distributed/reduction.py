"""Sums of the gradients of several processes, in the order of the shards.

Floating-point addition is not associative, so that an ``all_reduce`` gives other bytes than one process that
accumulates. Here every process receives its slice of each shard's gradient (``all_to_all``), adds the slices
from left to right, as accumulation does, and the sums are gathered.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from multihead.system import parallel

BUCKET_BYTES = 25 << 20
"""Gradients that travel together, about the size of DistributedDataParallel's buckets."""
ALIGNED = 16
"""A parameter begins at a multiple of this many elements: 64 bytes in fp32, as memory of its own does."""


@dataclass(frozen=True)
class _Bucket:
    """Parameters of one dtype whose gradients travel together.

    Attributes:
        numbers: their numbers among all parameters.
        starts: offset of each in the flat buffers.
        flat: gradients of this process, a slice a process.
        sum: sum of this process's slice over the shards so far.
    """

    parameters: list[Tensor]
    numbers: list[int]
    starts: list[int]
    flat: Tensor
    sum: Tensor


class Reduction:
    """Sums gradients over all shards of an update, and leaves them in the parameters of every process.

    Args:
        parameters: the trained parameters, in the same order in all processes.
        shards: number of shards in an update.
        ordered: add in the order of the shards; otherwise as ``all_reduce`` does.
    """

    def __init__(self, parameters: Sequence[Tensor], shards: int, *, ordered: bool) -> None:
        self.parameters, self.shards, self.ordered = list(parameters), shards, ordered
        self.world, self.rank = parallel.world(), parallel.rank()
        self._buckets = list(self._filled_buckets())
        self._seen = torch.zeros(len(self.parameters), dtype=torch.bool)
        self._received: dict[torch.dtype, Tensor] = {}
        for bucket in sorted(self._buckets if ordered else [], key=lambda bucket: len(bucket.flat)):
            self._received[bucket.flat.dtype] = torch.empty_like(bucket.flat)

    def _filled_buckets(self) -> Iterator[_Bucket]:
        for dtype in dict.fromkeys(parameter.dtype for parameter in self.parameters):
            yield from self._of_one_dtype([n for n, p in enumerate(self.parameters) if p.dtype == dtype])

    def _of_one_dtype(self, of: Sequence[int]) -> Iterator[_Bucket]:
        numbers: list[int] = []
        starts: list[int] = []
        length = 0
        for number in of:
            parameter = self.parameters[number]
            numbers.append(number)
            starts.append(length)
            length += -(-parameter.numel() // ALIGNED) * ALIGNED
            if length * parameter.element_size() >= BUCKET_BYTES or number == of[-1]:
                part = -(-length // (self.world * ALIGNED)) * ALIGNED
                flat = torch.zeros(part * self.world, dtype=parameter.dtype, device=parameter.device)
                members = [self.parameters[n] for n in numbers]
                yield _Bucket(members, numbers, starts, flat, torch.zeros_like(flat[:part]))
                numbers, starts, length = [], [], 0

    @property
    def rounds(self) -> int:
        """Rounds of an update; in each, every process computes at most one shard."""
        return -(-self.shards // self.world)

    def add(self, number: int, terms: Sequence[float]) -> list[list[float]]:
        """Add the gradients of round ``number``; the parameters' own are removed.

        Args:
            number: of the round, from 0.
            terms: this process's loss terms in this round; as many zeros where it has no shard.

        Returns:
            The loss terms of each shard of the round, in the order of the shards.
        """
        computed = min(self.shards - number * self.world, self.world)
        if number == 0:
            self._seen.zero_()
        present = [float(parameter.grad is not None) for parameter in self.parameters]
        rows = parallel.gather_numbers([*present, *terms])[:computed]
        there = torch.tensor([row[: len(present)] for row in rows]).bool()
        if self.ordered:
            for bucket in self._buckets:
                self._add_in_order(bucket, computed, there)
            self._seen |= there.any(0)
            for parameter in self.parameters:
                parameter.grad = None
        else:
            self._seen |= there.any(0)
        return [row[len(present) :] for row in rows]

    def _add_in_order(self, bucket: _Bucket, computed: int, there: Tensor) -> None:
        _flatten(bucket)
        part = len(bucket.sum)
        sent = [part if self.rank < computed else 0] * self.world
        received = [part if shard < computed else 0 for shard in range(self.world)]
        inbox = self._received[bucket.flat.dtype][: computed * part]
        dist.all_to_all_single(inbox, bucket.flat[: sum(sent)], received, sent)
        seen = self._seen[bucket.numbers].clone()
        for shard, piece in enumerate(inbox.view(computed, part)):
            here = there[shard][bucket.numbers]
            if here.all() and seen.all():
                bucket.sum.add_(piece)
            elif here.all() and not seen.any():
                bucket.sum.copy_(piece)
            else:
                self._add_some(bucket, piece, here, seen)
            seen |= here

    def _add_some(self, bucket: _Bucket, piece: Tensor, here: Tensor, seen: Tensor) -> None:
        """Add those parameters that have a gradient in a shard: 0 is not added to -0."""
        first = self.rank * len(piece)
        for place, (start, parameter) in enumerate(zip(bucket.starts, bucket.parameters, strict=True)):
            begin, end = max(0, start - first), min(len(piece), start + parameter.numel() - first)
            if here[place] and begin < end:
                add = Tensor.add_ if seen[place] else Tensor.copy_
                add(bucket.sum[begin:end], piece[begin:end])

    def finish(self) -> None:
        """Give every parameter its summed gradient; None to those without one in any shard."""
        for bucket in self._buckets:
            if self.ordered:
                dist.all_gather_single(bucket.flat, bucket.sum)
            else:
                _flatten(bucket)
                dist.all_reduce(bucket.flat)
            for number, start, parameter in zip(
                bucket.numbers, bucket.starts, bucket.parameters, strict=True
            ):
                summed = bucket.flat[start : start + parameter.numel()].view(parameter.shape)
                parameter.grad = summed if self._seen[number] else None


def _flatten(bucket: _Bucket) -> None:
    for start, parameter in zip(bucket.starts, bucket.parameters, strict=True):
        place = bucket.flat[start : start + parameter.numel()]
        if parameter.grad is None:
            place.zero_()
        else:
            place.copy_(parameter.grad.reshape(-1))
