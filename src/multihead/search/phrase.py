"""A phrase that an output must contain; ``search.phrases`` searches for such outputs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Phrase:
    """A phrase that an output must contain.

    Attributes:
        forms: token sequences, of which one is enough; none is empty.
        follows_V: True for tokens that may follow the phrase, so that no word is continued; None: any.
    """

    forms: tuple[tuple[int, ...], ...]
    follows_V: NDArray[np.bool_] | None = None

    @property
    def length(self) -> int:
        """Tokens of the shortest form."""
        return min(map(len, self.forms))
