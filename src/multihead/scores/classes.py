"""Classification metrics: accuracy, precision, recall, F1 and confusion matrix."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ClassScores:
    """Metrics derived from a confusion matrix.

    Attributes:
        confusion: number of examples of class i (row) predicted as class j (column), (K, K).
    """

    confusion: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of examples."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Fraction of the examples predicted correctly."""
        return float(np.trace(self.confusion) / max(1, self.count))

    @property
    def precision(self) -> NDArray[np.float64]:
        """Precision of each class, (K,); 0 for a class never predicted."""
        return _shares(np.diag(self.confusion), self.confusion.sum(axis=0))

    @property
    def recall(self) -> NDArray[np.float64]:
        """Recall of each class, (K,); 0 for a class without examples."""
        return _shares(np.diag(self.confusion), self.confusion.sum(axis=1))

    @property
    def f1_by_class(self) -> NDArray[np.float64]:
        """F1 of each class, 2 precision recall / (precision + recall), (K,)."""
        both = self.confusion.sum(axis=0) + self.confusion.sum(axis=1)
        return _shares(2 * np.diag(self.confusion), both)

    @property
    def f1(self) -> float:
        """Macro-averaged F1: the mean over the classes with examples or predictions."""
        occurs = (self.confusion.sum(axis=0) + self.confusion.sum(axis=1)) > 0
        return float(self.f1_by_class[occurs].mean()) if occurs.any() else 0.0


def class_scores(labels: Sequence[int], predictions: Sequence[int], classes: int) -> ClassScores:
    """Return the classification metrics of predictions.

    Args:
        labels: true class of each example, 0 to classes - 1.
        predictions: predicted class of each example.
        classes: number of classes, K.

    Raises:
        ValueError: the numbers of labels and predictions differ.
    """
    confusion = np.zeros((classes, classes), dtype=np.int64)
    for label, prediction in zip(labels, predictions, strict=True):
        confusion[label, prediction] += 1
    return ClassScores(confusion)


def _shares(parts: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.float64]:
    return parts / np.maximum(totals, 1)
