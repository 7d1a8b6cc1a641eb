"""What is said when a training ends."""

import shlex
from pathlib import Path

from multihead.cli import _console
from multihead.cli._progress import told
from multihead.training import Outcome


def ending(outcome: Outcome, folder: Path, command: str) -> str:
    """Say how a training ended and how to go on.

    Args:
        outcome: of the training.
        folder: the run folder.
        command: what was typed after ``multihead``.
    """
    progress, program = outcome.progress, _console.program()
    if outcome.how == "interrupted":
        return f"interrupted after step {progress.step:,}; the same command goes on:\n  {program} {command}"
    why = f" ({progress.stopped})" if progress.stopped else ""
    return (
        f"finished after {progress.step:,} steps{why}, {_console.duration(progress.seconds)} of training\n"
        f"{outcome.chosen} weights: {told(outcome.metrics or {})}\n"
        f"to use it: {program} translate {shlex.quote(str(folder))}"
    )
