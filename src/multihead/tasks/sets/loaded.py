"""Models of sets of images as ``multihead.load`` returns them."""

from collections.abc import Sequence
from pathlib import Path

from multihead.tasks.loaded import ListsMethods
from multihead.tasks.sets.odd_one_out import OddOneOut


class LoadedOddOneOut(ListsMethods, OddOneOut):
    """Model of sets of pictures."""

    def odd(self, pictures: Sequence[str | Path]) -> int:
        """Return the place of the odd one among picture files, from 0.

        Raises:
            UserError: fewer than three pictures; a file is missing, damaged or not a picture.
        """
        p_N = self.probabilities(pictures)
        return max(range(len(p_N)), key=p_N.__getitem__)
