"""Ensembles: one search over the averaged probabilities of several models."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from multihead.batch import Source
from multihead.errors import UserError
from multihead.search.stepper import State, Stepper


class EnsembleState:
    """The members' states, side by side."""

    def __init__(self, states: Sequence[State]) -> None:
        self.states = tuple(states)

    def select(self, rows: Tensor) -> "EnsembleState":
        """See ``State``."""
        return EnsembleState([state.select(rows) for state in self.states])

    def keep(self, sentences: Tensor) -> "EnsembleState":
        """See ``State``."""
        return EnsembleState([state.keep(sentences) for state in self.states])


class Ensemble:
    """A stepper that averages the probabilities of its members, models of any kind."""

    def __init__(self, members: Sequence[Stepper[Any]]) -> None:
        assert members, "an ensemble needs members"
        self.members = tuple(members)

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> EnsembleState:
        """See ``Stepper``."""
        return EnsembleState([member.start(source, prefixes) for member in self.members])

    def step(self, tokens_R: Tensor, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        """See ``Stepper``. The scores are the logarithm of the summed probabilities; softmax normalises them.

        Raises:
            UserError: the members' vocabularies differ in size.
        """
        stepped = [
            member.step(tokens_R, member_state)
            for member, member_state in zip(self.members, state.states, strict=True)
        ]
        sizes = [logits_RV.shape[1] for logits_RV, _ in stepped]
        if len(set(sizes)) > 1:
            raise UserError(
                f"the vocabularies differ: {', '.join(map(str, sizes))} tokens",
                place="ensemble",
                remedy="Combine models that share one target tokenizer.",
            )
        log_p_MRV = torch.stack([logits_RV.float().log_softmax(1) for logits_RV, _ in stepped])
        return log_p_MRV.logsumexp(0), EnsembleState([state for _, state in stepped])
