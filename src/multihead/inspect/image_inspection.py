"""Attention of a vision transformer over one image: its patches, attention maps and rollout."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from multihead.attention_maps import AttentionRecord, Sentence, Token, record_sequence, rollout
from multihead.data.pictures.opening import Pixels, fitted, open_picture
from multihead.generation.picture_classifier import PictureClassifier
from multihead.inspect.text_inspection import TOP_K, Predictions

Floats = NDArray[np.float32]
CLASS = "[class]"
"""Label of the class token."""


@dataclass(frozen=True, slots=True)
class ImageInspection:
    """An image, its predicted classes, and the attention recorded on the way.

    Attributes:
        name: file name of the image.
        pixels_Chw: the input of the model.
        grid: (rows, columns) of patches.
        class_token: True if the classifier reads a class token, False if it reads the mean over the patches.
        tokens: the class token, if there is one, and the patches row by row.
        records: of kind "self", with queries, keys and values.
        predictions: the classes.
    """

    name: str
    pixels_Chw: Pixels
    grid: tuple[int, int]
    class_token: bool
    tokens: Sentence
    records: tuple[AttentionRecord, ...]
    predictions: Predictions

    @property
    def readout(self) -> str:
        """Name of the vector that the classifier reads, whose attention the maps show."""
        return "the class token" if self.class_token else "the mean patch"

    def pool(self, weights: Floats) -> Floats:
        """Reduce attention to that of the classifier's input to each patch: (..., N, N) to (..., P).

        It is the row of the class token, or the mean over the rows if the classifier reads the mean patch.
        """
        return weights[..., 0, 1:] if self.class_token else weights.mean(axis=-2)

    def maps(self) -> list[Floats]:
        """Return the attention of the classifier's input to each patch, (H, P) per layer."""
        return [self.pool(record.sentence(0)) for record in self.records]

    def rollout(self) -> list[Floats]:
        """Return the attention rollout up to each layer, (P,); see ``attention_maps.rollout``."""
        return [self.pool(after) for after in rollout([record.sentence(0) for record in self.records])]


def inspect_image(classifier: PictureClassifier, path: Path) -> ImageInspection:
    """Classify an image and record the attention.

    Raises:
        UserError: the file is missing, damaged or not an image.
    """
    pixels = fitted(open_picture(path), classifier.form)
    sizes: Any = classifier.model.settings
    class_token = sizes.pooling == "class"
    rows = columns = int(sizes.grid)
    given = torch.tensor(pixels)[None].to(classifier.device).float() / 255
    outputs: list[torch.Tensor] = []
    length = rows * columns + class_token
    records = record_sequence(
        classifier.model, lambda model: outputs.append(model(given)), length, keep_inputs=True
    )
    p_K = outputs[0][0].float().softmax(-1)
    order = p_K.argsort(descending=True, stable=True).tolist()
    probabilities = {classifier.names[number]: p_K[number].item() for number in islice(order, TOP_K)}
    return ImageInspection(
        path.name,
        pixels,
        (rows, columns),
        class_token,
        _patches(rows, columns, class_token),
        tuple(records),
        Predictions("class", probabilities),
    )


def _patches(rows: int, columns: int, class_token: bool) -> Sentence:
    names = [CLASS] * class_token + [
        f"{row},{column}" for row in range(1, rows + 1) for column in range(1, columns + 1)
    ]
    tokens = tuple(Token(name, i) for i, name in enumerate(names))
    return Sentence(tokens, tokens)
