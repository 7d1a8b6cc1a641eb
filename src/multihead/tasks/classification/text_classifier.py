"""Classification of texts, or of pairs of texts, with a trained run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import nn

from multihead.data.plan import batch_by_length
from multihead.data.text_batches import Parts, as_input, truncate
from multihead.errors import UserError
from multihead.inspect.maps.calls import evaluating
from multihead.run import Run
from multihead.scores.classes import ClassScores, class_scores
from multihead.system import hardware
from multihead.system.hardware import Precision
from multihead.tasks.masked.texts import encode_parts
from multihead.tasks.rows_alone import RowsAlone
from multihead.text.tables import Example
from multihead.text.tokenizer import Tokenizer

BATCH_TOKENS = 4096
Text = str | tuple[str, str]
"""A text, or a pair of texts."""
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
        scores: accuracy, F1 and confusion matrix over the texts that have tokens.
        empty: number of texts without tokens, which are left out.
        places: file and line of the first few.
    """

    scores: ClassScores
    empty: int
    places: tuple[str, ...]


class TextClassifier:
    """Classifies texts, or pairs of texts if it was trained on pairs.

    Args:
        model: a text classifier.
        tokenizer: its tokenizer.
        names: class names.
        max_length: maximum input length in tokens; longer texts are truncated at the end, as in training.
        pairs: True if the model reads pairs of texts.
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
        pairs: bool = False,
        device: torch.device,
        precision: Precision = "auto",
    ) -> None:
        self.model, self.tokenizer, self.device = model, tokenizer, device
        self._alone = RowsAlone(model)
        self.names, self.max_length, self.pairs = tuple(names), max_length, pairs
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
            pairs=recipe.data.pairs,
            device=where,
        )

    def classify(self, texts: Sequence[Text]) -> list[TextPrediction]:
        """Predict the class of each text or pair, in order. A text without tokens, or its pair, gets none.

        Args:
            texts: texts; pairs of texts if the model was trained on pairs.

        Raises:
            UserError: a single text if the model reads pairs, or a pair if it reads single texts.
        """
        inputs = self.encode_text(texts)
        lengths = np.array(
            [len(first) + (0 if second is None else len(second)) for first, second in inputs], np.int32
        )
        predictions = [TextPrediction({}) for _ in texts]
        nonempty = np.flatnonzero(lengths)
        with evaluating(self.model), hardware.autocast(self.device, self._dtype), torch.inference_mode():
            for rows in batch_by_length(nonempty, lengths, lengths, BATCH_TOKENS):
                batch = as_input([inputs[i] for i in rows.tolist()], self.tokenizer).to(self.device)
                self._alone.compare(batch)
                p_BK = self.model(batch).float().softmax(-1).tolist()
                for i, p_K in zip(rows.tolist(), p_BK, strict=True):
                    order = sorted(range(len(p_K)), key=lambda k, p=p_K: -p[k])  # type: ignore[misc]
                    predictions[i] = TextPrediction({self.names[k]: p_K[k] for k in order})
        return predictions

    def read(self, line: str, place: str) -> Text:
        """Return a line as this model reads it: a text, or two texts with a tab between them.

        Raises:
            UserError: a tab if the model reads single texts; not exactly one if it reads pairs.
        """
        texts = line.split("\t")
        if not self.pairs:
            if len(texts) > 1:
                fact = "a text with a tab, but the model reads single texts, not pairs"
                raise UserError(fact, place=place, remedy="Replace the tab by a space.")
            return line
        if not line:
            return "", ""
        if len(texts) != 2:
            fact = f"{len(texts)} {'text' if len(texts) == 1 else 'texts'}, but the model reads pairs"
            raise UserError(fact, place=place, remedy="Give two texts with a tab between them.")
        return texts[0], texts[1]

    def encode_text(self, texts: Sequence[Text]) -> list[Parts]:
        """Return the truncated tokens of each text or pair; raises as :meth:`classify` does."""
        examples = [self._example(text, number) for number, text in enumerate(texts, start=1)]
        return [
            truncate((np.array(first), np.array(second) if self.pairs else None), self.max_length)
            for first, second in encode_parts(examples, self.tokenizer, pairs=self.pairs)
        ]

    def _example(self, text: Text, number: int) -> Example:
        """Return a text or a pair as an example. Raises ``UserError``: not the kind that the model reads."""
        place = f"text {number}"
        if isinstance(text, str):
            if self.pairs:
                remedy = 'Give both texts, as a pair ("first", "second").'
                raise UserError("one text, but the model reads pairs of texts", place=place, remedy=remedy)
            return Example(text, "", place)
        if not self.pairs:
            fact = "a pair of texts, but the model reads single texts"
            raise UserError(fact, place=place, remedy="Give each text as one string.")
        if len(text) != 2:
            raise UserError(f"expected 2 texts, got {len(text)}", place=place, remedy="Give two texts.")
        return Example(text[0], "", place, text[1])

    def measure(self, examples: Iterable[Example], labels: Sequence[str]) -> TextScores:
        """Return the scores on labelled texts or pairs. Texts without tokens are left out and counted.

        Args:
            examples: texts with their labels.
            labels: the labels as the files spell them, in the order of the classes.

        Raises:
            UserError: a label is not among ``labels``.
        """
        classes = {label: number for number, label in enumerate(labels)}
        examples = list(examples)
        for example in examples:
            if example.label not in classes:
                fact = f'unknown class "{example.label}"'
                raise UserError(fact, place=example.place, remedy=f"Known: {', '.join(labels)}.")
        predictions = self.classify([(e.text, e.second) if self.pairs else e.text for e in examples])
        numbers = {name: number for number, name in enumerate(self.names)}
        both = list(zip(examples, predictions, strict=True))
        scored = [(example, prediction) for example, prediction in both if prediction.name]
        empty = [example.place for example, prediction in both if not prediction.name]
        scores = class_scores(
            [classes[example.label] for example, _ in scored],
            [numbers[prediction.name] for _, prediction in scored],
            len(self.names),
        )
        return TextScores(scores, len(empty), tuple(empty[:MAX_PLACES]))
