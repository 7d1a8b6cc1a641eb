"""Room on the disk for a training's checkpoints, checked before its first update."""

import shutil
from pathlib import Path

from torch import nn

from multihead.errors import UserError
from multihead.recipe.settings import OptimisationSettings
from multihead.run.checkpoints import STATES_KEPT
from multihead.training.muon import hidden_matrices

MARGIN = 64 << 20
"""Bytes for logs, reports and headers."""


def bytes_needed(model: nn.Module, settings: OptimisationSettings) -> int:
    """Return the most bytes that a run folder takes: states, checkpoints and the final model.

    A file is written beside the one that it replaces, so that one more of the largest is counted.
    """
    weights = sum(w.numel() * w.element_size() for w in model.state_dict().values())
    hidden = hidden_matrices(model) if settings.optimizer == "muon" else set()
    trained = [p for p in model.parameters() if p.requires_grad]
    moments = sum(p.numel() * p.element_size() * (1 if p in hidden else 2) for p in trained)
    state = weights * (2 if settings.ema else 1) + moments
    scheduled = settings.average + 2  # one more than is averaged, and one that is due for removal
    states = STATES_KEPT + (settings.schedule == "wsd")  # and the one before the cool-down
    total: int = (states + 1) * state + (scheduled + 2) * weights + MARGIN
    return total


def bytes_taken(folder: Path) -> int:
    """Return the bytes of the files that a run folder has already."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def free(folder: Path) -> int:
    """Return the bytes free for a folder, which need not exist yet."""
    place = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())
    return shutil.disk_usage(place).free


def check(folder: Path, model: nn.Module, settings: OptimisationSettings) -> None:
    """Refuse a disk that cannot hold the checkpoints of a training.

    Raises:
        UserError: with the room that is needed and the room that is free.
    """
    missing, room = bytes_needed(model, settings) - bytes_taken(folder), free(folder)
    if missing > room:
        raise UserError(
            f"the checkpoints take up to {megabytes(missing)}, but {megabytes(room)} are free",
            place=str(folder),
            remedy="Make room, name a --run folder on another disk, or lower training.average.",
        )


def megabytes(size: int) -> str:
    """Return a number of bytes in MB, rounded."""
    return f"{size / 1e6:,.0f} MB"
