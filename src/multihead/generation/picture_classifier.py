"""A trained run that says of pictures what they show."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn

from multihead import hardware
from multihead.data.pictures.listing import Listing
from multihead.data.pictures.opening import Form, fitted, open_picture
from multihead.data.pictures.prepare import numbers_of
from multihead.run import Run
from multihead.scores.classes import ClassScores, class_scores

BATCH = 64
"""Pictures read at once."""

Views = Literal[1, 2, 10]
"""Of a picture: itself; its mirror image too; both also moved up, down, left and right."""

MOVED = 28
"""A picture is moved by one part in so many of its size, one pixel at least."""


@dataclass(frozen=True)
class Guess:
    """What a picture is taken for.

    Attributes:
        probabilities: by the classes' names, the likeliest first; they sum to 1.
    """

    probabilities: dict[str, float]

    @property
    def name(self) -> str:
        """The likeliest class."""
        return next(iter(self.probabilities))


def views_of(pixels_BChw: Tensor, count: Views) -> list[Tensor]:
    """Return views of pictures, whose answers are averaged (Krizhevsky et al. 2012, sec. 4.1: ten crops).

    Where a picture is moved, what was outside of it is black, as in training (``training.crop``).
    """
    by = max(1, round(pixels_BChw.shape[-1] / MOVED))
    upright = [pixels_BChw]
    if count == 10:
        padded = F.pad(pixels_BChw, (by, by, by, by))
        rows, columns = pixels_BChw.shape[2:]
        corners = [(0, by), (2 * by, by), (by, 0), (by, 2 * by)]
        upright += [padded[:, :, y : y + rows, x : x + columns] for y, x in corners]
    return upright if count == 1 else [view for one in upright for view in (one, one.flip(-1))]


class PictureClassifier:
    """A model with the names of its classes.

    Args:
        model: maps pixels to logits; its settings say what pictures it takes.
        device: where it computes.
        precision: of the matrix products.
    """

    def __init__(
        self, model: nn.Module, *, device: torch.device, precision: hardware.Precision = "fp32"
    ) -> None:
        self.model, self.device = model.to(device).eval(), device
        self.dtype = hardware.pick_dtype(precision, device)
        settings = model.settings
        self.names: tuple[str, ...] = settings.class_names  # type: ignore[union-attr, assignment]
        self.form = Form(settings.picture_size, settings.channels)  # type: ignore[union-attr, arg-type]

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Read a trained run.

        Raises:
            UserError: not a run, not a classifier of pictures, not trained yet, no such device.
        """
        run, place = Run.open(folder).fit_for("pictures"), hardware.pick_device(device)
        return cls(run.load_model(place), device=place)

    def classify(self, pictures: Sequence[str | Path], *, views: Views = 1) -> Iterable[Guess]:
        """Yield a guess for each picture file, in order.

        Args:
            pictures: their files.
            views: average what is found in so many views of each, see ``views_of``.

        Raises:
            UserError: a file is missing, damaged, or no picture.
        """
        files = [Path(picture) for picture in pictures]
        for p_BK in self._probabilities(lambda number: open_picture(files[number]), len(files), views):
            for p_K in p_BK:
                order = p_K.argsort(descending=True, stable=True)
                yield Guess({self.names[number]: p_K[number].item() for number in order.tolist()})

    def measure(self, pictures: Listing, *, views: Views = 1) -> ClassScores:
        """Return how well pictures are told apart whose classes are known; ``views`` as in ``classify``.

        Raises:
            UserError: a picture that cannot be read; a label outside the classes.
        """
        labels = numbers_of(pictures, self.names).tolist()
        guesses = [
            number
            for p_BK in self._probabilities(pictures.picture, len(labels), views)
            for number in p_BK.argmax(dim=1).tolist()
        ]
        return class_scores(labels, guesses, len(self.names))

    @torch.no_grad()
    def _probabilities(
        self, picture: Callable[[int], Image.Image], count: int, views: Views
    ) -> Iterator[Tensor]:
        """Yield the probabilities of a batch of pictures, (B, classes)."""
        for start in range(0, count, BATCH):
            rows = range(start, min(count, start + BATCH))
            pixels = np.stack([fitted(picture(number), self.form) for number in rows])
            seen_BChw = torch.from_numpy(pixels).to(self.device).float() / 255
            with hardware.autocast(self.device, self.dtype):
                logits = [self.model(view_BChw) for view_BChw in views_of(seen_BChw, views)]
            yield torch.stack(logits).float().softmax(dim=-1).mean(dim=0).cpu()
