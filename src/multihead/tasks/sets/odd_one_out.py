"""The odd one out of a set of images, with a trained run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from multihead.data.images.listing import Listing
from multihead.data.images.opening import Form, fit_image, open_image
from multihead.errors import UserError
from multihead.inspect.maps.calls import evaluating
from multihead.run import Run
from multihead.system import hardware, randomness
from multihead.tasks.images.prepare import class_names, numbers_of
from multihead.tasks.sets.image_sets import SetMaker

BATCH = 64
"""Sets computed together."""
TEST_SEED = randomness.derive(0, "test sets")
"""Seeds the test sets, independently of the training seeds."""


@dataclass(frozen=True)
class SetScores:
    """Scores of a test.

    Attributes:
        accuracy: share of the sets whose odd one is found.
        chance: expected accuracy of guessing.
        sets: number of sets.
    """

    accuracy: float
    chance: float
    sets: int


class OddOneOut:
    """Finds the odd one of a set of images.

    Args:
        model: a model that maps sets of images to logits.
        set_size: number of images in a training set; other sizes are accepted.
        device: device to compute on.
    """

    def __init__(self, model: nn.Module, set_size: int, *, device: torch.device) -> None:
        self.model, self.set_size, self.device = model.to(device), set_size, device
        sizes: Any = model.settings
        self.form = Form(sizes.image_size, sizes.channels)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Load a trained run.

        Raises:
            UserError: not a run; not a model of sets; not trained yet; no such device.
        """
        run, where = Run.open(folder).fit_for("sets"), hardware.pick_device(device)
        return cls(run.load_model(where), run.recipe.data.set_size, device=where)

    def probabilities(self, images: Sequence[str | Path]) -> list[float]:
        """Return the probability that each image is the odd one, in order; they sum to 1.

        Raises:
            UserError: fewer than three images; a file is missing, damaged, or not an image.
        """
        with evaluating(self.model), torch.inference_mode():
            return self.model(self.pixels(images)).float().softmax(-1)[0].tolist()  # type: ignore[no-any-return]

    def pixels(self, images: Sequence[str | Path]) -> Tensor:
        """Return image files as a set, (1, N, channels, size, size); raises as :meth:`probabilities`."""
        if len(images) < 3:
            fact = f"{len(images)} images are too few for a set; one differs from at least two others"
            raise UserError(fact, place="images", remedy="Give at least three images.")
        stacked = np.stack([fit_image(open_image(Path(image)), self.form) for image in images])
        return torch.from_numpy(stacked)[None].to(self.device).float() / 255

    def measure(self, images: Listing) -> SetScores:
        """Return the accuracy on sets of labelled images; each image is the odd one of one set.

        Raises:
            UserError: an image cannot be read; too few images of a class.
        """
        labels = numbers_of(images, class_names(images, ()))
        pixels = np.stack([fit_image(images.image(row), self.form) for row in range(len(labels))])
        maker = SetMaker(pixels, labels, self.set_size, TEST_SEED)
        correct = 0
        with evaluating(self.model), torch.inference_mode():
            for start in range(0, len(labels), BATCH):
                batch = maker.batch(np.arange(start, min(len(labels), start + BATCH)), 0).to(self.device)
                correct += int((self.model(batch.pixels_BNChw).argmax(-1) == batch.odd_B).sum())
        return SetScores(correct / len(labels), 1 / self.set_size, len(labels))
