"""Recognition of a plain beam search that an engine may run as a whole."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, cast

from torch import Tensor

from multihead.batch import Source
from multihead.search.constraints import Banned, Constraint, NoRepeatedNgram
from multihead.search.hypotheses import Hypothesis
from multihead.search.observer import Observer
from multihead.search.plain import DEFAULT, BeamRequest, LengthLimits, StoppedError, check_wanted, stop_when

__all__ = [
    "DEFAULT",
    "BeamRequest",
    "LengthLimits",
    "Searcher",
    "StoppedError",
    "check_wanted",
    "search_as_a_whole",
    "stop_when",
]


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
    limits: LengthLimits,
    constraints: Sequence[Constraint],
    observer: Observer | None,
) -> list[list[Hypothesis]] | None:
    """Run a search by the stepper's own ``beam`` if it has one and the request is plain; else return None.

    Arguments as of ``beam``. A plain request has no forced prefixes, no observer, and no constraints
    except banned tokens, n-grams that must not be repeated, and a minimum length.
    """
    offered = cast(Any, getattr(stepper, "beam", None))
    firsts = {tuple(prefix) for prefix in prefixes}
    if offered is None or observer is not None or len(firsts) != 1:
        return None
    (first,) = firsts
    # A subclass of Banned may forbid more than it lists.
    bans = [constraint.tokens for constraint in constraints if type(constraint) is Banned]
    ngrams = [constraint.size for constraint in constraints if type(constraint) is NoRepeatedNgram]
    banned = tuple(sorted({token for tokens in bans for token in tokens}))
    supported = len(bans) + len(ngrams) == len(constraints) and len(ngrams) <= 1
    if len(first) != 1 or not supported or eos_id in banned:
        return None
    constrained = (*ngrams, 0)[0], limits.min_length
    request = BeamRequest(first[0], eos_id, banned, beam_size, alpha, n_best, stop, *constrained)
    return cast(Searcher, stepper).beam(source, limits.longest(source.lengths_B), request)
