"""Attention of a vision transformer over one image: its patches, attention maps and rollout."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from multihead.data.images.opening import Pixels, fit_image, open_image
from multihead.errors import UserError
from multihead.inspect.maps import AttentionRecord, Sentence, TokenLabel, record_sequence, rollout
from multihead.inspect.text_inspection import TOP_K, Predictions
from multihead.tasks.images.image_classifier import ImageClassifier

Floats = NDArray[np.float32]
CLASS = "[class]"
"""Label of the class token."""
REGISTER = "[register {}]"
"""Label of a register token."""


@dataclass(frozen=True, slots=True)
class ImageInspection:
    """An image, its predicted classes, and the recorded attention.

    Attributes:
        name: file name of the image.
        pixels_Chw: the model input.
        grid: (rows, columns) of patches.
        before: number of tokens before the patches.
        readout: name of the classifier's input vector, whose attention the maps show.
        shares_N: weight of each token's output in that vector.
        tokens: class token and registers, if any, and the patches row by row.
        records: attention of kind "self", with queries, keys and values.
        predictions: the most probable classes.
        run: feeds the image to a model.
    """

    name: str
    pixels_Chw: Pixels
    grid: tuple[int, int]
    before: int
    readout: str
    shares_N: Floats
    tokens: Sentence
    records: tuple[AttentionRecord, ...]
    predictions: Predictions
    run: Callable[[Any], object]

    def pool(self, weights: Floats) -> Floats:
        """Reduce (..., N, N) to (..., P): the attention of the classifier's input to each patch.

        The mean over the rows, weighted by their shares in the classifier's input; with a class token, only
        its row.
        """
        pooled: Floats = self.shares_N @ weights
        return pooled[..., self.before :]

    def maps(self) -> list[Floats]:
        """Return the attention of the classifier's input to each patch, (H, P) per layer."""
        return [self.pool(record.sentence(0)) for record in self.records]

    def rollout(self) -> list[Floats]:
        """Return the attention rollout up to each layer, (P,); see ``maps.rollout``."""
        return [self.pool(after) for after in rollout([record.sentence(0) for record in self.records])]


def inspect_image(classifier: ImageClassifier, path: Path) -> ImageInspection:
    """Classify an image and record the attention.

    Raises:
        UserError: the file is missing, damaged or not an image; the model has no attention over patches.
    """
    model: Any = classifier.model
    if not hasattr(model, "pool"):
        fact = f"{type(model).__name__} has no attention over patches to show"
        raise UserError(fact, place=str(path), remedy="`multihead classify` shows its classes.")
    pixels = fit_image(open_image(path), classifier.form)
    rows = columns = int(model.settings.grid)
    shares: list[torch.Tensor] = []
    hook = model.pool.register_forward_pre_hook(lambda pool, args: shares.append(pool.shares(args[0])[0]))
    pixels_1Chw = torch.tensor(pixels)[None].to(classifier.device).float() / 255
    outputs: list[torch.Tensor] = []
    length = rows * columns + model.before
    try:
        records = record_sequence(
            classifier.model, lambda model: outputs.append(model(pixels_1Chw)), length, keep_inputs=True
        )
    finally:
        hook.remove()
    p_K = outputs[0][0].float().softmax(-1)
    order = p_K.argsort(descending=True, stable=True).tolist()
    probabilities = {classifier.names[number]: p_K[number].item() for number in islice(order, TOP_K)}
    return ImageInspection(
        path.name,
        pixels,
        (rows, columns),
        model.before,
        model.pool.name,
        shares[0].detach().float().numpy(force=True),
        _patches(rows, columns, class_token=model.class_token is not None, before=model.before),
        tuple(records),
        Predictions("class", probabilities),
        run=lambda model: model(pixels_1Chw),
    )


def _patches(rows: int, columns: int, *, class_token: bool, before: int) -> Sentence:
    registers = [REGISTER.format(number) for number in range(1, before - class_token + 1)]
    patches = [f"{row},{column}" for row in range(1, rows + 1) for column in range(1, columns + 1)]
    names = [CLASS] * class_token + registers + patches
    tokens = tuple(TokenLabel(name, i) for i, name in enumerate(names))
    return Sentence(tokens, tokens)
