"""Text classification with a trained run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import nn

from multihead import hardware
from multihead.attention_maps.calls import evaluating
from multihead.data.plan import batch_by_length
from multihead.data.text_batches import as_input
from multihead.errors import UserError
from multihead.hardware import Precision
from multihead.run import Run
from multihead.scores.classes import ClassScores, class_scores
from multihead.text.tables import Example
from multihead.text.tokenizer import Tokenizer

BATCH_TOKENS = 4096
MAX_PLACES = 3
"""Number of skipped texts that are named."""


@dataclass(frozen=True)
class TextPrediction:
    """The predicted classes of a text.

    Attributes:
        probabilities: probability by class name, most probable first; empty for an empty text.
    """

    probabilities: dict[str, float]

    @property
    def name(self) -> str:
        """The most probable class; "" for an empty text."""
        return next(iter(self.probabilities), "")


@dataclass(frozen=True)
class TextScores:
    """Classification scores on labelled texts.

    Attributes:
        scores: accuracy, F1 and confusion matrix over the texts that have a token.
        empty: number of texts without a token; they are left out.
        places: file and line of the first few of them.
    """

    scores: ClassScores
    empty: int
    places: tuple[str, ...]


class TextClassifier:
    """Classifies texts.

    Args:
        model: a text classifier.
        tokenizer: its tokenizer.
        names: class names.
        max_length: most tokens of an input; longer texts are truncated at the end, as in training.
        device: device of the model.
        precision: precision of matrix products.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        names: Sequence[str],
        *,
        max_length: int,
        device: torch.device,
        precision: Precision = "auto",
    ) -> None:
        self.model, self.tokenizer, self.device = model, tokenizer, device
        self.names, self.max_length = tuple(names), max_length
        self._dtype = hardware.pick_dtype(precision, device)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Load a trained run.

        Raises:
            UserError: not a run; not a text classifier; not trained yet; no such device.
        """
        run, where = Run.open(folder).fit_for("classification"), hardware.pick_device(device)
        recipe = run.recipe
        names: Sequence[str] = recipe.model.class_names  # type: ignore[attr-defined]
        return cls(
            run.load_model(where),
            run.tokenizers()[0],
            names,
            max_length=recipe.data.max_length,
            device=where,
        )

    def classify(self, texts: Sequence[str]) -> list[TextPrediction]:
        """Predict the class of each text, in order. A text without a token gets no class."""
        inputs = [np.array(ids[: self.max_length - 2]) for ids in self.tokenizer.encode_batch(texts)]
        lengths = np.array([len(ids) for ids in inputs], dtype=np.int32)
        predictions = [TextPrediction({}) for _ in texts]
        nonempty = np.flatnonzero(lengths)
        with evaluating(self.model), hardware.autocast(self.device, self._dtype), torch.inference_mode():
            for rows in batch_by_length(nonempty, lengths, lengths, BATCH_TOKENS):
                batch = as_input([(inputs[i], None) for i in rows.tolist()], self.tokenizer).to(self.device)
                p_BK = self.model(batch).float().softmax(-1).tolist()
                for i, p_K in zip(rows.tolist(), p_BK, strict=True):
                    order = sorted(range(len(p_K)), key=lambda k, p=p_K: -p[k])  # type: ignore[misc]
                    predictions[i] = TextPrediction({self.names[k]: p_K[k] for k in order})
        return predictions

    def measure(self, examples: Iterable[Example], labels: Sequence[str]) -> TextScores:
        """Return the classification scores on labelled texts. Texts without a token are left out and counted.

        Args:
            examples: texts with their labels.
            labels: the labels as the files spell them, in the order of the classes.

        Raises:
            UserError: a label is not among ``labels``.
        """
        known = {label: number for number, label in enumerate(labels)}
        given = list(examples)
        for example in given:
            if example.label not in known:
                fact = f'unknown class "{example.label}"'
                raise UserError(fact, place=example.place, remedy=f"Known: {', '.join(labels)}.")
        predictions = self.classify([example.text for example in given])
        numbers = {name: number for number, name in enumerate(self.names)}
        pairs = list(zip(given, predictions, strict=True))
        scored = [(example, prediction) for example, prediction in pairs if prediction.name]
        empty = [example.place for example, prediction in pairs if not prediction.name]
        scores = class_scores(
            [known[example.label] for example, _ in scored],
            [numbers[prediction.name] for _, prediction in scored],
            len(self.names),
        )
        return TextScores(scores, len(empty), tuple(empty[:MAX_PLACES]))


# Former names, for one version.
TextGuess = TextPrediction
Measured = TextScores
