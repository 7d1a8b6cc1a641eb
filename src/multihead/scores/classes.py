"""How well classes are told apart: accuracy, F1, and who is taken for whom."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ClassScores:
    """What a confusion matrix says.

    Attributes:
        confusion: how many examples of class i (row) were taken for class j (column), (K, K).
    """

    confusion: NDArray[np.int64]

    @property
    def count(self) -> int:
        """How many examples there were."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Share of the examples that are right."""
        return float(np.trace(self.confusion) / max(1, self.count))

    @property
    def precision(self) -> NDArray[np.float64]:
        """Of those taken for a class, the share that is of it, (K,); 0 where there are none."""
        return _shares(np.diag(self.confusion), self.confusion.sum(axis=0))

    @property
    def recall(self) -> NDArray[np.float64]:
        """Of a class's examples, the share that was found, (K,); 0 where there are none."""
        return _shares(np.diag(self.confusion), self.confusion.sum(axis=1))

    @property
    def f1_by_class(self) -> NDArray[np.float64]:
        """2 precision recall / (precision + recall), (K,)."""
        both = self.confusion.sum(axis=0) + self.confusion.sum(axis=1)
        return _shares(2 * np.diag(self.confusion), both)

    @property
    def f1(self) -> float:
        """Mean over the classes that occur (macro-averaged F1)."""
        occurs = (self.confusion.sum(axis=0) + self.confusion.sum(axis=1)) > 0
        return float(self.f1_by_class[occurs].mean()) if occurs.any() else 0.0


def class_scores(labels: Sequence[int], guesses: Sequence[int], classes: int) -> ClassScores:
    """Return the scores of guesses.

    Args:
        labels: what the examples are, 0 to classes - 1.
        guesses: what they were taken for, in the same order.
        classes: K.

    Raises:
        ValueError: not as many guesses as labels.
    """
    confusion = np.zeros((classes, classes), dtype=np.int64)
    for label, guess in zip(labels, guesses, strict=True):
        confusion[label, guess] += 1
    return ClassScores(confusion)


def _shares(parts: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.float64]:
    return parts / np.maximum(totals, 1)
