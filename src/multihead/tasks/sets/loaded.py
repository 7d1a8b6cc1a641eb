"""Models of sets of images as ``multihead.load`` returns them."""

from collections.abc import Sequence
from pathlib import Path

from multihead.tasks.loaded import ListsMethods
from multihead.tasks.sets.odd_one_out import OddOneOut


class LoadedOddOneOut(ListsMethods, OddOneOut):
    """Model of sets of images."""

    def odd(self, images: Sequence[str | Path]) -> int:
        """Return the place of the odd one among image files, from 0.

        Raises:
            UserError: fewer than three images; a file is missing, damaged or not an image.
        """
        p_N = self.probabilities(images)
        return max(range(len(p_N)), key=p_N.__getitem__)
