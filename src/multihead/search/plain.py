"""Length limits, cancellation, and the request of a plain beam search that an engine may run as a whole."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from multihead.errors import UserError

Lengths = TypeVar("Lengths")
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
class LengthLimits:
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

    def longest(self, source_lengths_B: Lengths) -> Lengths:
        """The maximum length of each output in tokens, (B,); of tensors a tensor, of arrays an array."""
        lengths_B: Any = source_lengths_B
        longest_B: Any = lengths_B + self.max_extra
        if self.max_length:
            longest_B = 0 * lengths_B + self.max_length
        limits: Lengths = longest_B if self.capacity is None else longest_B.clip(max=self.capacity)
        return limits


DEFAULT = LengthLimits()
"""As in the Transformer paper: the source's length + 50."""


@dataclass(frozen=True, slots=True)
class BeamRequest:
    """A plain beam search: one begin symbol, and the constraints below. Arguments as of ``beam``.

    Attributes:
        first: the begin symbol.
        eos_id: the end symbol.
        banned: forbidden tokens, sorted, without the end symbol.
        beam_size: hypotheses alive at a time.
        alpha: exponent of the length penalty.
        n_best: hypotheses to return.
        stop: "exact" or "first".
        no_repeat_ngram: no sequence of so many tokens occurs twice, the begin symbol included; 0: allowed.
        min_length: tokens before which the end symbol is forbidden.
    """

    first: int
    eos_id: int
    banned: tuple[int, ...]
    beam_size: int
    alpha: float
    n_best: int
    stop: Literal["exact", "first"]
    no_repeat_ngram: int = 0
    min_length: int = 0

    @property
    def constrained(self) -> bool:
        """True if what may follow depends on what is written."""
        return bool(self.no_repeat_ngram or self.min_length)


def check_n_best(n_best: int, beam_size: int) -> None:
    """Refuse more outputs than a beam has hypotheses. Raises ``UserError``."""
    if n_best > beam_size:
        raise UserError(
            f"n_best {n_best} is larger than the beam, {beam_size}",
            remedy="Raise search.beam_size or lower search.n_best.",
        )


def not_finite(step: int) -> UserError:
    """Return the error for scores that are not a distribution; ``step`` counts from 0."""
    return UserError(
        "the model's scores are not finite numbers",
        place=f"search, step {step + 1}",
        remedy="Its training has diverged, or the precision is too low: use an earlier checkpoint, or fp32.",
    )
