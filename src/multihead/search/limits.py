"""How long an output may be, and must be."""

from dataclasses import dataclass

from torch import Tensor

from multihead.errors import UserError


@dataclass(frozen=True, slots=True)
class Limits:
    """Lengths of an output in tokens: a forced prefix counts, begin and end symbol do not.

    Attributes:
        max_extra: the longest output has the source's length (as the model reads it) plus this many
            tokens (Vaswani et al. 2017, sec. 6.1: 50).
        max_length: the longest output whatever the source; 0: ``max_extra`` rules.
        min_length: the end symbol is not allowed before so many tokens.
        capacity: never more than this, a property of the model (its positions); None: no such limit.
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
        """The most tokens that each output may have, (B,)."""
        longest_B = source_lengths_B + self.max_extra
        if self.max_length:
            longest_B = longest_B.new_full(longest_B.shape, self.max_length)
        return longest_B if self.capacity is None else longest_B.clamp(max=self.capacity)


DEFAULT = Limits()
"""As in the Transformer paper: the source's length + 50."""
