"""Image classification with a trained run."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn

from multihead.data.images.listing import Listing
from multihead.data.images.opening import Form, fit_image, open_image
from multihead.run import Run
from multihead.scores.classes import ClassScores, class_scores
from multihead.system import hardware
from multihead.tasks.images.prepare import numbers_of
from multihead.tasks.rows_alone import RowsAlone

BATCH = 64
"""Images in a batch."""

Views = Literal[1, 2, 10]
"""Views averaged per image: the image; its mirror image too; both shifted in four directions too."""

SHIFT = 28
"""Shifted views move by 1 / SHIFT of the image's width, and by at least one pixel."""


@dataclass(frozen=True)
class ImagePrediction:
    """The predicted classes of an image.

    Attributes:
        probabilities: probability by class name, most probable first; they sum to 1.
    """

    probabilities: dict[str, float]

    @property
    def name(self) -> str:
        """The most probable class."""
        return next(iter(self.probabilities))


def views_of(pixels_BChw: Tensor, count: Views) -> list[Tensor]:
    """Return the views of images for test-time augmentation (Krizhevsky et al. 2012, sec. 4.1: ten crops).

    Shifted views are padded with black, as in training (``training.crop``).
    """
    shift = max(1, round(pixels_BChw.shape[-1] / SHIFT))
    upright = [pixels_BChw]
    if count == 10:
        padded = F.pad(pixels_BChw, (shift, shift, shift, shift))
        rows, columns = pixels_BChw.shape[2:]
        corners = [(0, shift), (2 * shift, shift), (shift, 0), (shift, 2 * shift)]
        upright += [padded[:, :, y : y + rows, x : x + columns] for y, x in corners]
    return upright if count == 1 else [view for image in upright for view in (image, image.flip(-1))]


class ImageClassifier:
    """Classifies images.

    Args:
        model: a model of pixels with logits; its settings give image size, channels and class names.
        device: device to compute on.
        precision: precision of matrix products.
    """

    def __init__(
        self, model: nn.Module, *, device: torch.device, precision: hardware.Precision = "fp32"
    ) -> None:
        self.model, self.device = model.to(device).eval(), device
        self._alone = RowsAlone(self.model)
        self.dtype = hardware.pick_dtype(precision, device)
        settings = model.settings
        self.names: tuple[str, ...] = settings.class_names  # type: ignore[union-attr, assignment]
        self.form = Form(settings.image_size, settings.channels)  # type: ignore[union-attr, arg-type]

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Load a trained run.

        Raises:
            UserError: not a run; not an image classifier; not trained yet; no such device.
        """
        run, where = Run.open(folder).fit_for("images"), hardware.pick_device(device)
        return cls(run.load_model(where), device=where)

    def classify(self, images: Sequence[str | Path], *, views: Views = 1) -> Iterable[ImagePrediction]:
        """Yield a prediction for each image file, in order.

        Args:
            images: image files.
            views: number of views whose probabilities are averaged, see ``views_of``.

        Raises:
            UserError: a file is missing, damaged, or not an image.
        """
        files = [Path(image) for image in images]
        for p_BK in self._probabilities(lambda number: open_image(files[number]), len(files), views):
            for p_K in p_BK:
                order = p_K.argsort(descending=True, stable=True)
                yield ImagePrediction({self.names[k]: p_K[k].item() for k in order.tolist()})

    def measure(self, images: Listing, *, views: Views = 1) -> ClassScores:
        """Return the classification scores on labelled images; ``views`` as for ``classify``.

        Raises:
            UserError: an image cannot be read; a label is not one of the classes.
        """
        labels = numbers_of(images, self.names).tolist()
        predicted = [
            number
            for p_BK in self._probabilities(images.image, len(labels), views)
            for number in p_BK.argmax(dim=1).tolist()
        ]
        return class_scores(labels, predicted, len(self.names))

    @torch.no_grad()
    def _probabilities(
        self, image: Callable[[int], Image.Image], count: int, views: Views
    ) -> Iterator[Tensor]:
        """Yield the class probabilities of each batch, (B, K)."""
        for start in range(0, count, BATCH):
            rows = range(start, min(count, start + BATCH))
            pixels = np.stack([fit_image(image(number), self.form) for number in rows])
            pixels_BChw = torch.from_numpy(pixels).to(self.device).float() / 255
            self._alone.compare(pixels_BChw)
            with hardware.autocast(self.device, self.dtype):
                logits = [self.model(view_BChw) for view_BChw in views_of(pixels_BChw, views)]
            yield torch.stack(logits).float().softmax(dim=-1).mean(dim=0).cpu()
