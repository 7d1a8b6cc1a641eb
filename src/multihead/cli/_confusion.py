"""Classification scores and confusion matrices, as tables or JSON."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from multihead.scores.classes import ClassScores

MAX_COLUMNS = 20
"""Number of classes above which the confusion matrix is not shown."""


def as_json(scores: ClassScores, names: Sequence[str]) -> dict[str, Any]:
    """Return all scores and the confusion matrix, ready for JSON."""
    return {
        "count": scores.count,
        "accuracy": scores.accuracy,
        "f1": scores.f1,
        "classes": {
            name: {"precision": precision, "recall": recall, "f1": f1}
            for name, precision, recall, f1 in zip(
                names,
                scores.precision.tolist(),
                scores.recall.tolist(),
                scores.f1_by_class.tolist(),
                strict=True,
            )
        },
        "confusion": scores.confusion.tolist(),
    }


def show(heading: str, scores: ClassScores, names: Sequence[str], console: Console) -> None:
    """Print accuracy, F1 and the confusion matrix: rows are true classes, columns predicted ones."""
    console.print(heading)
    console.print(f"  accuracy {100 * scores.accuracy:.2f} %   mean F1 {100 * scores.f1:.2f} %\n")
    table = Table(box=None, padding=(0, 1), header_style="dim")
    columns = len(names) if len(names) <= MAX_COLUMNS else 0
    for title in ("", "F1", *map(str, range(1, columns + 1))):
        table.add_column(title, justify="left" if not title else "right")
    for number, name in enumerate(names):
        counts = [f"{count:,}" if count else "." for count in scores.confusion[number, :columns].tolist()]
        table.add_row(f"{number + 1} {name}", f"{100 * scores.f1_by_class[number]:.1f}", *counts)
    console.print(table, soft_wrap=False)
