"""A trained classifier of texts: lines in, classes with probabilities out."""

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
PLACES = 3
"""Texts left out whose places are named."""


@dataclass(frozen=True)
class TextGuess:
    """What a text may be: classes with their probabilities, likeliest first; "" of an empty text."""

    probabilities: dict[str, float]

    @property
    def name(self) -> str:
        """The likeliest class."""
        return next(iter(self.probabilities), "")


@dataclass(frozen=True)
class Measured:
    """How good a classifier is, and which texts had no piece to go by."""

    scores: ClassScores
    empty: int
    places: tuple[str, ...]


class TextClassifier:
    """A classifier and its vocabulary.

    Args:
        model: the model.
        tokenizer: its vocabulary.
        names: of the classes.
        max_length: longest input; what is longer is cut off at its end, as in training.
        device: where the model is.
        precision: of matrix products.
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
        """Read a trained run.

        Raises:
            UserError: not a run, no classifier of texts, not trained yet, no such device.
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

    def classify(self, texts: Sequence[str]) -> list[TextGuess]:
        """Say what texts are, in their order. A text without a piece has no class."""
        pieces = [np.array(ids[: self.max_length - 2]) for ids in self.tokenizer.encode_batch(texts)]
        lengths = np.array([len(ids) for ids in pieces], dtype=np.int32)
        found = [TextGuess({}) for _ in texts]
        real = np.flatnonzero(lengths)
        with evaluating(self.model), hardware.autocast(self.device, self._dtype), torch.inference_mode():
            for rows in batch_by_length(real, lengths, lengths, BATCH_TOKENS):
                read = as_input([(pieces[i], None) for i in rows.tolist()], self.tokenizer).to(self.device)
                for i, p_K in zip(rows.tolist(), self.model(read).float().softmax(-1).tolist(), strict=True):
                    order = sorted(range(len(p_K)), key=lambda k, p=p_K: -p[k])  # type: ignore[misc]
                    found[i] = TextGuess({self.names[k]: p_K[k] for k in order})
        return found

    def measure(self, examples: Iterable[Example], labels: Sequence[str]) -> Measured:
        """Return how well classes are told apart; texts without a piece are left out and counted.

        Args:
            examples: texts with their labels.
            labels: the labels as the files spell them, in the order of the classes.

        Raises:
            UserError: a label that is none of these.
        """
        known = {label: number for number, label in enumerate(labels)}
        given = list(examples)
        for example in given:
            if example.label not in known:
                fact = f'unknown class "{example.label}"'
                raise UserError(fact, place=example.place, remedy=f"Known: {', '.join(labels)}.")
        guesses = self.classify([example.text for example in given])
        numbers = {name: number for number, name in enumerate(self.names)}
        seen = [(e, guess) for e, guess in zip(given, guesses, strict=True) if guess.name]
        empty = [e.place for e, guess in zip(given, guesses, strict=True) if not guess.name]
        scores = class_scores(
            [known[e.label] for e, _ in seen], [numbers[guess.name] for _, guess in seen], len(self.names)
        )
        return Measured(scores, len(empty), tuple(empty[:PLACES]))
