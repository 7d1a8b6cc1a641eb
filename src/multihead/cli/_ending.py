"""What is said when a training ends."""

from multihead.cli import _console
from multihead.training import Outcome
from multihead.workflows.progress_display import format_duration, format_metrics


def ending(outcome: Outcome, began: int, command: str) -> str:
    """Say how a training ended and how to go on.

    Args:
        outcome: of the training.
        began: the step that this start began after.
        command: what was typed after ``multihead``.
    """
    progress = outcome.progress
    if outcome.how == "interrupted":
        again = f"{_console.program()} {command}"
        return f"interrupted after step {progress.step:,}; the same command goes on:\n  {again}"
    why = f" ({progress.stopped})" if progress.stopped else ""
    before = "nothing is left to do: " if began == progress.step else ""
    spent = format_duration(progress.seconds)
    return (
        f"{before}finished after {progress.step:,} steps{why}, {spent} of training\n"
        f"{outcome.chosen} weights: {format_metrics(outcome.metrics or {})}"
    )
