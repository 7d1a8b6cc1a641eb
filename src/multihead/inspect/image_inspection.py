"""One picture, seen by a vision transformer: its patches, and where the model looked."""

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
from multihead.inspect.text_inspection import GUESSES, Guesses

Floats = NDArray[np.float32]
CLASS = "[class]"
"""What the class token is called."""


@dataclass(frozen=True, slots=True)
class Sight:
    """A picture that was seen, and everything that attention did with it.

    Attributes:
        name: of the picture's file.
        pixels_Chw: as the model was given them.
        grid: (rows, columns) of patches.
        class_token: whether a token of its own is read by the classifier; otherwise it is the mean patch.
        tokens: the class token, if there is one, and the patches row by row.
        records: of kind "self"; queries, keys and values kept.
        guesses: the classes.
    """

    name: str
    pixels_Chw: Pixels
    grid: tuple[int, int]
    class_token: bool
    tokens: Sentence
    records: tuple[AttentionRecord, ...]
    guesses: Guesses

    @property
    def asker(self) -> str:
        """Whose look a map shows: what the classifier reads."""
        return "the class token" if self.class_token else "the mean patch"

    def read(self, weights: Floats) -> Floats:
        """What the classifier's input takes from each patch: (..., N, N) to (..., P).

        It is the row of the class token, or the mean over the rows where the mean patch is read.
        """
        return weights[..., 0, 1:] if self.class_token else weights.mean(axis=-2)

    def maps(self) -> list[Floats]:
        """For each layer what each head takes from each patch, (H, P)."""
        return [self.read(record.sentence(0)) for record in self.records]

    def rollout(self) -> list[Floats]:
        """For each layer how much of each patch has come through so far, (P,): ``attention_maps.rollout``."""
        return [self.read(after) for after in rollout([record.sentence(0) for record in self.records])]


def see(classifier: PictureClassifier, path: Path) -> Sight:
    """Let a classifier see a picture, and record where it looks.

    Raises:
        UserError: the file is missing, damaged, or no picture.
    """
    pixels = fitted(open_picture(path), classifier.form)
    sizes: Any = classifier.model.settings
    class_token = sizes.pooling == "class"
    rows = columns = int(sizes.grid)
    given = torch.tensor(pixels)[None].to(classifier.device).float() / 255
    said: list[torch.Tensor] = []
    length = rows * columns + class_token
    records = record_sequence(
        classifier.model, lambda model: said.append(model(given)), length, keep_inputs=True
    )
    p_K = said[0][0].float().softmax(-1)
    order = p_K.argsort(descending=True, stable=True).tolist()
    answers = {classifier.names[number]: p_K[number].item() for number in islice(order, GUESSES)}
    return Sight(
        path.name,
        pixels,
        (rows, columns),
        class_token,
        _patches(rows, columns, class_token),
        tuple(records),
        Guesses("is taken for", answers),
    )


def _patches(rows: int, columns: int, class_token: bool) -> Sentence:
    names = [CLASS] * class_token + [
        f"{row},{column}" for row in range(1, rows + 1) for column in range(1, columns + 1)
    ]
    tokens = tuple(Token(name, place) for place, name in enumerate(names))
    return Sentence(tokens, tokens)
