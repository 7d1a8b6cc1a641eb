"""The logical shards of an update, and the processes that compute them.

``training.accumulate`` batches make an update; each is a *logical shard*. Of W processes, process r computes
the shards r, W + r, 2W + r, ... A shard's batch and random numbers follow from (seed, step, shard), so that
the number of processes changes nothing but the time.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from multihead.batch import Batch
from multihead.data.plan import Indices
from multihead.data.stream import Stream, StreamPosition
from multihead.errors import UserError
from multihead.recipe.settings import OptimisationSettings
from multihead.system import parallel

DIVIDED = "training.shard_weights"
"""The setting that divides weights among processes (``full_sharding``), for messages."""


class Shards:
    """The shards of each update that this process computes.

    Args:
        count: logical shards in an update, ``training.accumulate``.
        asking: returns whether the user asked for the end of the training.

    Raises:
        UserError: there are more processes than shards.

    Attributes:
        own: the numbers of this process's shards.
        totals: denominators of the loss terms over all shards of the current update, at least 1 each.
        tokens: training units in all shards of the current update.
    """

    def __init__(self, count: int, asking: Callable[[], bool]) -> None:
        refuse_too_many(count)
        world = parallel.world()
        self.count, self.world = count, world
        self.own = range(parallel.rank(), count, world)
        self.totals: dict[str, int] = {}
        self.tokens = 0
        self._asking, self._asked = asking, False
        self._lengths: dict[int, int] = {}
        self._clocks: list[tuple[Callable[[], float], list[float]]] = []

    # --- agreement ----------------------------------------------------------------------------------

    def clock(self, clock: Callable[[], float]) -> Callable[[], float]:
        """Return a clock that all processes agree on: that of the first, read at each agreement."""
        if self.world == 1:
            return clock
        reading = [0.0]
        self._clocks.append((clock, reading))
        self.agree()
        return lambda: reading[0]

    @property
    def asked(self) -> bool:
        """True if the user asked for the end, as the first process saw it at the last agreement."""
        return self._asking() if self.world == 1 else self._asked

    def agree(self, *, stop: bool = False, counted: Sequence[float] = ()) -> list[list[float]]:
        """Exchange a few numbers: stop flags, the first process's clocks and wishes, and ``counted``."""
        own = [float(stop), float(self._asking()), *(clock() for clock, _ in self._clocks), *counted]
        rows = parallel.gather_numbers(own)
        self._asked = bool(rows[0][1])
        for (_, reading), seconds in zip(self._clocks, rows[0][2:], strict=False):
            reading[0] = seconds
        return rows

    def ready(self, batches: Sequence[Batch], *, stop: bool) -> bool:
        """Agree on the next update: its counts, and whether to make it.

        Args:
            batches: this process's shards.
            stop: this process was asked to stop.

        Returns:
            False if any process was asked to stop.
        """
        if stop and self.world == 1:
            return False
        names = sorted(batches[0].counts)
        if any(sorted(batch.counts) != names for batch in batches):
            raise AssertionError("batches of one training count different things")
        sums = Counter[str]()
        for batch in batches:
            sums.update(batch.counts)
        own = [float(sum(batch.tokens for batch in batches)), *(float(sums[name]) for name in names)]
        rows = self.agree(stop=stop, counted=own)
        found = [sum(int(row[-len(own) + place]) for row in rows) for place in range(len(own))]
        self.tokens, *counts = found
        self.totals = {name: max(1, count) for name, count in zip(names, counts, strict=True)}
        return not any(row[0] for row in rows)

    # --- data ---------------------------------------------------------------------------------------

    def of(self, stream: Stream[Batch]) -> Stream[Batch]:
        """Return the part of a stream that this process makes."""
        return stream if self.world == 1 else _StreamShare(stream, self)

    def after(self, stream: Stream[Batch], position: StreamPosition) -> StreamPosition:
        """Return the position after an update that starts at a position."""
        epoch, batch = position.epoch, position.batch + self.count
        while batch >= (length := self.length(stream, epoch)):
            epoch, batch = epoch + 1, batch - length
        return StreamPosition(epoch, batch)

    def length(self, stream: Stream[Batch], epoch: int) -> int:
        """Return the number of batches in an epoch."""
        if epoch not in self._lengths:
            self.note(epoch, len(stream.cached_plan(epoch)))
        return self._lengths[epoch]

    def note(self, epoch: int, batches: int) -> None:
        """Remember the number of batches in an epoch: planning it again takes long."""
        self._lengths = {e: n for e, n in self._lengths.items() if e >= epoch - 1} | {epoch: batches}


def refuse_too_many(count: int) -> None:
    """Raise ``UserError`` where there are more processes than shards in an update."""
    world = parallel.world()
    if world > count:
        raise UserError(
            f"{world} processes, but an update has {count} batch{'es' if count > 1 else ''} "
            "(training.accumulate)",
            remedy=f"Start at most {count}, or give --training.accumulate {world} and smaller batches.",
        )


def refuse_settings(settings: OptimisationSettings) -> None:
    """Refuse settings that several processes with divided weights (training.shard_weights) cannot have.

    Raises:
        UserError: Muon, which needs whole matrices; torch.compile; processes of which some would lack a batch
            in the last round.
    """
    world, count = parallel.world(), settings.accumulate
    if not settings.shard_weights or world == 1:
        return
    if settings.optimizer == "muon":
        raise UserError(
            "muon orthogonalises whole matrices, of which each process would hold a part",
            place=DIVIDED,
            remedy="Use adam or adamw, or training.shard_optimizer, which gives each matrix one owner.",
        )
    if settings.compile:
        fact = "divided weights are not compiled"
        raise UserError(fact, place=DIVIDED, remedy="Leave training.compile out.")
    if count % world:
        raise UserError(
            f"{count} batches an update cannot be divided equally among {world} processes, and all gather a "
            "layer together",
            place=DIVIDED,
            remedy=f"Give --training.accumulate a multiple of {world}, and smaller batches.",
        )


class _StreamShare(Stream[Batch]):
    """The batches of a stream that one process makes; the others are skipped without being made."""

    def __init__(self, stream: Stream[Batch], shards: Shards) -> None:
        super().__init__(stream.position)
        self.stream, self.shards = stream, shards

    def plan(self, epoch: int) -> Sequence[Indices]:
        """See :meth:`Stream.plan`; of all processes."""
        return self.stream.cached_plan(epoch)

    def batch(self, indices: Indices, epoch: int) -> Batch:
        """See :meth:`Stream.batch`."""
        return self.stream.batch(indices, epoch)

    def shard(self, index: int, count: int) -> Iterator[tuple[Batch, StreamPosition]]:
        """Yield every ``count``-th of this process's batches, starting with number ``index``."""
        position, shards = self.position, self.shards
        number = made = 0
        while True:
            batches, epoch = self.stream.cached_plan(position.epoch), position.epoch
            shards.note(epoch, len(batches))
            for place in range(position.batch, len(batches)):
                position = (
                    StreamPosition(epoch + 1)
                    if place + 1 == len(batches)
                    else StreamPosition(epoch, place + 1)
                )
                mine = number % shards.count in shards.own
                number += 1
                if mine and made % count == index:
                    self.position = position
                    yield self.stream.batch(batches[place], epoch), position
                made += mine
