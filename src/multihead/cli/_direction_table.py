"""Table of a translator's scores in all its directions."""

import math
from collections.abc import Sequence
from statistics import mean

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from multihead.tasks.translation.evaluate import Evaluation


def show_directions(run: str, evaluations: Sequence[Evaluation], console: Console) -> None:
    """Print a row for each direction and test set, their mean, and the signatures of the scores."""
    table = Table(title=run, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("direction")
    for name in ("pairs", "BLEU", "chrF2", "exact", "perplexity"):
        table.add_column(name, justify="right")
    for evaluation in evaluations:
        cells = _cells(evaluation.bleu.value, evaluation.chrf.value, evaluation.exact, evaluation.perplexity)
        table.add_row(evaluation.test_set.name, f"{len(evaluation.outputs):,}", *cells)
    table.add_section()
    means = [
        mean(scores)
        for scores in (
            [evaluation.bleu.value for evaluation in evaluations],
            [evaluation.chrf.value for evaluation in evaluations],
            [evaluation.exact for evaluation in evaluations],
            [evaluation.perplexity for evaluation in evaluations],
        )
    ]
    table.add_row("mean", f"{sum(len(evaluation.outputs) for evaluation in evaluations):,}", *_cells(*means))
    console.print(table)
    console.print(f"BLEU: {evaluations[0].bleu.signature}")
    console.print(f"chrF2: {evaluations[0].chrf.signature}")
    for evaluation in evaluations:
        if evaluation.contaminated:
            fact = f"{evaluation.contaminated:,} of the sentences of {evaluation.test_set.name}"
            console.print(f"caution: {fact} occur in the training data", style="yellow")
    console.print()


def _cells(bleu: float, chrf: float, exact: float, perplexity: float) -> list[str]:
    rounded = f"{perplexity:.2f}" if math.isfinite(perplexity) else "-"
    return [f"{bleu:.2f}", f"{chrf:.2f}", f"{100 * exact:.1f} %", rounded]
