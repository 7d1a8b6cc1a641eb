"""An endless stream of batches, of which a position is enough to go on from."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Generic, TypeVar

from multihead.batch import Batch
from multihead.data.plan import Indices

B = TypeVar("B", bound=Batch, covariant=True)


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in the endless stream: the next batch to come."""

    epoch: int = 0
    batch: int = 0


START = Position()


class Stream(ABC, Generic[B]):
    """The endless stream of training batches, each with the position after it.

    A stream that starts at a position gives exactly what a stream from the beginning gives from there on, so
    a position is all that a resumed run needs to know. Any batch can be made alone: several processes may
    each make some of them.

    Args:
        position: where to begin.
    """

    def __init__(self, position: Position = START) -> None:
        self.position = position
        self._planned: tuple[int, Sequence[Indices]] | None = None

    @abstractmethod
    def plan(self, epoch: int) -> Sequence[Indices]:
        """Return what the batches of an epoch are made of, at least one."""

    def planned(self, epoch: int) -> Sequence[Indices]:
        """Return :meth:`plan`, kept until another epoch's is asked for: of many millions it takes long."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = epoch, self.plan(epoch)
        return self._planned[1]

    @abstractmethod
    def batch(self, indices: Indices, epoch: int) -> B:
        """Make a batch; the same for the same arguments."""

    def largest(self) -> B:
        """Return the batch to try memory with; here the first, as all are of one size."""
        return self.batch(self.planned(0)[0], 0)

    def batches_an_epoch(self) -> int:
        """Return how many batches the first epoch has."""
        return len(self.planned(0))

    def __iter__(self) -> Iterator[tuple[B, Position]]:
        return self.part(0, 1)

    def part(self, first: int, each: int) -> Iterator[tuple[B, Position]]:
        """Yield one batch of ``each``, beginning with number ``first`` (from 0); the others are not made."""
        position = self.position
        numbers = count()
        while True:
            batches, epoch = self.planned(position.epoch), position.epoch
            assert position.batch < len(batches), f"{position} is not a position of this stream"
            for place in range(position.batch, len(batches)):
                last = place + 1 == len(batches)
                position = Position(epoch + 1) if last else Position(epoch, place + 1)
                if next(numbers) % each == first:
                    self.position = position
                    yield self.batch(batches[place], epoch), position
