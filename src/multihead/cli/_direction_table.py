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
    for one in evaluations:
        cells = _cells(one.bleu.value, one.chrf.value, one.exact, one.perplexity)
        table.add_row(one.test_set.name, f"{len(one.outputs):,}", *cells)
    table.add_section()
    means = [
        mean(scores)
        for scores in (
            [one.bleu.value for one in evaluations],
            [one.chrf.value for one in evaluations],
            [one.exact for one in evaluations],
            [one.perplexity for one in evaluations],
        )
    ]
    table.add_row("mean", f"{sum(len(one.outputs) for one in evaluations):,}", *_cells(*means))
    console.print(table)
    console.print(f"BLEU: {evaluations[0].bleu.signature}")
    console.print(f"chrF2: {evaluations[0].chrf.signature}")
    for one in evaluations:
        if one.contaminated:
            fact = f"{one.contaminated:,} of the sentences of {one.test_set.name}"
            console.print(f"caution: {fact} occur in the training data", style="yellow")
    console.print()


def _cells(bleu: float, chrf: float, exact: float, perplexity: float) -> list[str]:
    shown = f"{perplexity:.2f}" if math.isfinite(perplexity) else "-"
    return [f"{bleu:.2f}", f"{chrf:.2f}", f"{100 * exact:.1f} %", shown]
