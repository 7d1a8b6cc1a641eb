"""A search that the model does itself, where it offers to: without a return to Python after every token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

from torch import Tensor

from multihead.batch import Source
from multihead.search.constraints import Banned, Constraint
from multihead.search.hypothesis import Hypothesis
from multihead.search.limits import Limits
from multihead.search.observer import Observer


@dataclass(frozen=True, slots=True)
class BeamRequest:
    """A plain beam search; attributes as the arguments of ``beam``.

    Attributes:
        first: the begin symbol, which every output begins with.
        longest_B: the most tokens that each output may have.
        banned: what must never come.
    """

    first: int
    eos_id: int
    banned: tuple[int, ...]
    beam_size: int
    alpha: float
    n_best: int
    stop: Literal["exact", "first"]
    longest_B: Tensor


class Searcher(Protocol):
    """What a stepper may offer besides its steps."""

    def beam(self, source: Source, request: BeamRequest) -> list[list[Hypothesis]] | None:
        """The same hypotheses as ``search.beam`` finds; None: not like this, or not here.

        Raises:
            UserError: scores that are no numbers.
        """
        ...


def whole(
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
    """Let the model search, if it offers to and nothing is asked that it knows nothing of; else None.

    Arguments as of ``beam``. What it knows nothing of: forced prefixes, least lengths, constraints other than
    banned tokens, observers.
    """
    offered = cast(Any, getattr(stepper, "beam", None))
    firsts = {tuple(prefix) for prefix in prefixes}
    if offered is None or observer is not None or limits.min_length or len(firsts) != 1:
        return None
    (first,) = firsts
    bans = [constraint.tokens for constraint in constraints if isinstance(constraint, Banned)]
    banned = tuple(sorted({token for tokens in bans for token in tokens}))
    if len(first) != 1 or len(bans) != len(constraints) or eos_id in banned:
        return None
    searcher = cast(Searcher, stepper)
    longest_B = limits.longest(source.lengths_B)
    return searcher.beam(
        source, BeamRequest(first[0], eos_id, banned, beam_size, alpha, n_best, stop, longest_B)
    )
