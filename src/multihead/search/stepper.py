"""The interface between search and models: two methods of a model, and two of its state.

Rows are hypotheses. A state holds the same number of rows, k, for every sentence still searched,
ordered by sentence: row ``r`` belongs to sentence ``r // k``.
"""

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

from torch import Tensor

from multihead.batch import Source


class State(Protocol):
    """A model's memory between two steps.

    A method returns the new state; the old one must not be used again, because a model may reuse its memory.
    """

    def select(self, rows: Tensor) -> Self:
        """Keep these rows: R' indices, repeats allowed, k' for every sentence, sentences in order.

        Allowed from ``start`` on. Only the target side's memory moves; a sentence's rows share the source's.
        """
        ...

    def keep(self, sentences: Tensor) -> Self:
        """Keep these sentences (ascending indices) with all their rows."""
        ...


S = TypeVar("S", bound=State)


class Stepper(Protocol[S]):
    """A model, as search sees it. Everything runs under ``torch.inference_mode``."""

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> S:
        """Read the sources and all of each prefix but its last token; one row per sentence.

        Args:
            source: B sentences.
            prefixes: B non-empty token sequences of any lengths, usually just the begin symbol.
        """
        ...

    def step(self, tokens_R: Tensor, state: S) -> tuple[Tensor, S]:
        """Append one token to every row; return the scores of the next one, logits (R, V), and the state.

        Softmax over a row of the scores is the model's probability of each next token. The caller owns the
        scores: search may overwrite them.
        """
        ...
