"""Requests to end a training, now or after some minutes, and to continue it."""

import math
from pathlib import Path

from multihead.errors import UserError
from multihead.run import Run


def ask_to_finish(folder: Path | None) -> bool:
    """Ask the training that is writing to a run folder to end.

    Returns:
        True if there is one; False if the run was stopped, so that it has to be resumed to end.

    Raises:
        UserError: no run folder is named, or it is not one.
    """
    if folder is None:
        raise UserError(
            "no run folder is named", place="--finish", remedy="multihead train --run RUN --finish"
        )
    run = Run.open(folder)
    if run.locked():
        run.ask_to_finish()
        return True
    return False


def check_longer(folder: Path | None) -> None:
    """Refuse to continue a training that is not there. Raises ``UserError``."""
    if folder is None:
        remedy = "multihead train --run RUN --longer"
        raise UserError("no run folder is named", place="--longer", remedy=remedy)
    Run.open(folder)


def positive_minutes(minutes: float) -> float:
    """Return the minutes. Raises ``UserError`` unless they are a positive number."""
    if not 0 < minutes < math.inf:
        raise UserError(f"--minutes {minutes:g}", remedy="Give a positive number of minutes.")
    return minutes
