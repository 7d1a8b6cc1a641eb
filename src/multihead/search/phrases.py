"""Search of a PyTorch model for outputs that contain given phrases; see ``search.phrase_search``."""

from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

import torch

from multihead.batch import Source
from multihead.search.constraints import Constraint, forbid_
from multihead.search.distribution import log_normaliser
from multihead.search.hypotheses import Hypothesis
from multihead.search.phrase import Phrase
from multihead.search.phrase_search import search_phrases
from multihead.search.request import DEFAULT, LengthLimits
from multihead.search.stepper import State, Stepper
from multihead.system.native_library import Array

__all__ = ["Phrase", "phrase_beam"]

S = TypeVar("S", bound=State)


@torch.inference_mode()
def phrase_beam(
    stepper: Stepper[S],
    source: Source,
    prefixes: Sequence[Sequence[int]],
    phrases: Sequence[Sequence[Phrase]],
    *,
    eos_id: int,
    beam_size: int = 5,
    alpha: float = 0.6,
    n_best: int = 1,
    limits: LengthLimits = DEFAULT,
    constraints: Sequence[Constraint] = (),
    reserved: Collection[int] = (),
) -> list[list[Hypothesis]]:
    """Return the best hypotheses that contain all phrases of their sentence, best first.

    A sentence for which none is found within its length limit gets an empty list.

    Args:
        stepper: the model.
        source: B sentences.
        prefixes: B sequences, each the begin symbol and a forced prefix.
        phrases: the phrases of each sentence; they do not overlap in the output.
        eos_id: the end symbol.
        beam_size: hypotheses alive at a time; more if the phrases have many tokens.
        alpha: exponent of the length penalty.
        n_best: hypotheses to return.
        limits: length limits; phrases may be written beyond them, but not beyond the model's capacity.
        constraints: name the forbidden continuations.
        reserved: tokens that may only be written as part of a phrase.
    """

    def forbid(scores_RV: Array, written: Sequence[Sequence[int]]) -> None:
        width = max(map(len, written))
        history = [[-1] * (width - len(tokens)) + list(tokens) for tokens in written]
        forbid_(torch.from_numpy(scores_RV), torch.tensor(history), constraints)

    return search_phrases(
        _Steps(stepper, stepper.start(source, prefixes), source.lengths_B.device),
        forbid,
        prefixes,
        phrases,
        limits.longest(source.lengths_B).tolist(),
        eos_id=eos_id,
        beam_size=beam_size,
        alpha=alpha,
        n_best=n_best,
        limits=limits,
        reserved=reserved,
    )


class _Steps(Generic[S]):
    """A model in single steps, see ``phrase_search.Steps``."""

    def __init__(self, stepper: Stepper[S], state: S, device: torch.device) -> None:
        self._stepper, self._state, self._device, self._step = stepper, state, device, 0

    def scores(self, tokens: Sequence[int], parents: Sequence[int] | None) -> Array:
        if parents is not None:
            self._state = self._state.select(torch.tensor(parents, device=self._device))
            self._step += 1
        logits_RV, self._state = self._stepper.step(torch.tensor(tokens, device=self._device), self._state)
        logits_RV = logits_RV.float()
        scores_RV: Array = (logits_RV - log_normaliser(logits_RV, self._step)[:, None]).cpu().numpy()
        return scores_RV

    def keep(self, sentences: Sequence[int]) -> None:
        self._state = self._state.keep(torch.tensor(sentences, device=self._device))
