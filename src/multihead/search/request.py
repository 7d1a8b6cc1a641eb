"""Length limits, cancellation, and the request of a plain beam search that an engine may run as a whole."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

from torch import Tensor

from multihead.batch import Source
from multihead.errors import UserError
from multihead.search.constraints import Banned, Constraint
from multihead.search.hypotheses import Hypothesis
from multihead.search.observer import Observer

_local = threading.local()


class StoppedError(Exception):
    """A search was stopped because nobody waits for its result."""


@contextmanager
def stop_when(unwanted: Callable[[], bool]) -> Iterator[None]:
    """Make ``check_wanted`` raise in this thread, within the block, once ``unwanted`` returns True."""
    before = getattr(_local, "unwanted", None)
    _local.unwanted = unwanted
    try:
        yield
    finally:
        _local.unwanted = before


def check_wanted() -> None:
    """Raise ``StoppedError`` if the result is no longer wanted; called by loops between their steps."""
    unwanted: Callable[[], bool] | None = getattr(_local, "unwanted", None)
    if unwanted is not None and unwanted():
        raise StoppedError


@dataclass(frozen=True, slots=True)
class Limits:
    """Length limits of an output in tokens: a forced prefix counts, begin and end symbol do not.

    Attributes:
        max_extra: maximum length beyond the source's length as the model reads it (Vaswani et al. 2017, sec.
            6.1: 50).
        max_length: maximum length, independent of the source; 0: use ``max_extra``.
        min_length: minimum length: the end symbol is forbidden before.
        capacity: the model's own maximum (its positions); None: no limit.
    """

    max_extra: int = 50
    max_length: int = 0
    min_length: int = 0
    capacity: int | None = None

    def __post_init__(self) -> None:
        if 0 < self.max_length < self.min_length:
            raise UserError(
                f"the minimum length {self.min_length} is above the maximum length {self.max_length}",
                remedy="Lower search.min_length or raise search.max_length.",
            )

    def longest(self, source_lengths_B: Tensor) -> Tensor:
        """The maximum length of each output in tokens, (B,)."""
        longest_B = source_lengths_B + self.max_extra
        if self.max_length:
            longest_B = longest_B.new_full(longest_B.shape, self.max_length)
        return longest_B if self.capacity is None else longest_B.clamp(max=self.capacity)


DEFAULT = Limits()
"""As in the Transformer paper: the source's length + 50."""


@dataclass(frozen=True, slots=True)
class BeamRequest:
    """A plain beam search: one begin symbol, no constraints except banned tokens. Arguments as of ``beam``.

    Attributes:
        first: the begin symbol.
        eos_id: the end symbol.
        banned: forbidden tokens, sorted, without the end symbol.
        beam_size: hypotheses alive at a time.
        alpha: exponent of the length penalty.
        n_best: hypotheses to return.
        stop: "exact" or "first".
    """

    first: int
    eos_id: int
    banned: tuple[int, ...]
    beam_size: int
    alpha: float
    n_best: int
    stop: Literal["exact", "first"]


class Searcher(Protocol):
    """A stepper that can run a whole plain beam search without returning to Python after every token."""

    def beam(self, source: Source, longest_B: Tensor, request: BeamRequest) -> list[list[Hypothesis]] | None:
        """The hypotheses that ``search.beam`` finds; None: it cannot run this request.

        Args:
            source: B sentences.
            longest_B: the maximum length of each output in tokens.
            request: the search.

        Raises:
            UserError: the model's scores are not finite.
        """
        ...


def search_as_a_whole(
    stepper: object,
    source: Source,
    prefixes: Sequence[Sequence[int]],
    *,
    eos_id: int,
    beam_size: int,
    alpha: float,
    n_best: int,
    stop: Literal["exact", "first"],
    limits: Limits,
    constraints: Sequence[Constraint],
    observer: Observer | None,
) -> list[list[Hypothesis]] | None:
    """Run a search by the stepper's own ``beam`` if it has one and the request is plain; else return None.

    Arguments as of ``beam``. A plain request has no forced prefixes, no minimum length, no observer, and no
    constraints except banned tokens.
    """
    offered = cast(Any, getattr(stepper, "beam", None))
    firsts = {tuple(prefix) for prefix in prefixes}
    if offered is None or observer is not None or limits.min_length or len(firsts) != 1:
        return None
    (first,) = firsts
    # A subclass of Banned may forbid more than it lists.
    bans = [constraint.tokens for constraint in constraints if type(constraint) is Banned]
    banned = tuple(sorted({token for tokens in bans for token in tokens}))
    if len(first) != 1 or len(bans) != len(constraints) or eos_id in banned:
        return None
    request = BeamRequest(first[0], eos_id, banned, beam_size, alpha, n_best, stop)
    return cast(Searcher, stepper).beam(source, limits.longest(source.lengths_B), request)
