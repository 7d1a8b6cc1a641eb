"""A trained run that says of pictures what they show."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
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

    def classify(self, pictures: Sequence[str | Path], *, mirror: bool = False) -> Iterable[Guess]:
        """Yield a guess for each picture file, in order.

        Args:
            pictures: their files.
            mirror: look at each a second time, mirrored left to right, and average what is found
                (Krizhevsky et al. 2012, sec. 4.1).

        Raises:
            UserError: a file is missing, damaged, or no picture.
        """
        files = [Path(picture) for picture in pictures]
        for p_BK in self._probabilities(lambda number: open_picture(files[number]), len(files), mirror):
            for p_K in p_BK:
                order = p_K.argsort(descending=True, stable=True)
                yield Guess({self.names[number]: p_K[number].item() for number in order.tolist()})

    def measure(self, pictures: Listing, *, mirror: bool = False) -> ClassScores:
        """Return how well pictures are told apart whose classes are known; ``mirror`` as in ``classify``.

        Raises:
            UserError: a picture that cannot be read; a label outside the classes.
        """
        labels = numbers_of(pictures, self.names).tolist()
        guesses = [
            number
            for p_BK in self._probabilities(pictures.picture, len(labels), mirror)
            for number in p_BK.argmax(dim=1).tolist()
        ]
        return class_scores(labels, guesses, len(self.names))

    @torch.no_grad()
    def _probabilities(
        self, picture: Callable[[int], Image.Image], count: int, mirror: bool
    ) -> Iterator[Tensor]:
        """Yield the probabilities of a batch of pictures, (B, classes)."""
        for start in range(0, count, BATCH):
            rows = range(start, min(count, start + BATCH))
            pixels = np.stack([fitted(picture(number), self.form) for number in rows])
            seen_BChw = torch.from_numpy(pixels).to(self.device).float() / 255
            views = [seen_BChw, seen_BChw.flip(-1)] if mirror else [seen_BChw]
            with hardware.autocast(self.device, self.dtype):
                logits = [self.model(view) for view in views]
            yield torch.stack(logits).float().softmax(dim=-1).mean(dim=0).cpu()
