"""Functions that ``test_full_sharding`` runs, some of them in each of several processes."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from backwards import Silent, fit, mean_loss, pairs_of, small_transformer, strings, training_in
from torch import nn

from multihead.models.transformer import Transformer
from multihead.system import native, parallel
from multihead.training import Training, Validation

SETTINGS: dict[str, object] = {
    "accumulate": 4,
    "ema": 0.9,
    "steps": 4,
    "log_every": 1,
    "final": "ema",
    "clip_norm": 0.4,
    "shard_weights": True,
}
KEPT = ("step", "epoch", "loss", "norm", "tokens", "rate")


def model() -> Transformer:
    """Return a model with tied weights, whose rows two processes cannot share equally."""
    return small_transformer(tied="all", num_heads=1, d_model=13, positions="rotary", d_k=8)


def training(folder: Path, **changed: object) -> Training:
    """Return a training that validates as fast search does, with memory that NumPy shares."""
    follows = not parallel.first()
    held_out = pairs_of(strings(31, 9, seed=2))

    def validate(model: nn.Module, step: int) -> Validation:
        shared = [weight.numpy() for weight in model.parameters()]
        return Validation({"loss": mean_loss(model, held_out), "size": float(sum(map(np.size, shared)))})

    return training_in(
        folder / str(follows),
        model(),
        validate=validate,
        observer=Silent(),
        settings=SETTINGS | changed,
        follows=follows,
    )


def trained(folder: Path, **changed: object) -> dict[str, Any]:
    """Train in a folder; return the metrics of all updates, and which part of the state is here."""
    torch.set_num_threads(1)
    made = training(folder, **changed)
    outcome = fit(made)
    observer = made.observer
    assert isinstance(observer, Silent)
    moments = [entries["exp_avg"] for entries in made.state.optimizer.state.values()]
    held = [*made.model.parameters(), *moments]
    here = sum(getattr(tensor, "to_local", lambda own=tensor: own)().numel() for tensor in held)
    return {
        "updates": [[event[name] for name in KEPT] for event in observer.updates],
        "validations": [[event["loss"], event["size"]] for event in observer.validations],
        "outcome": [outcome.status, outcome.weights],
        "held": here / sum(tensor.numel() for tensor in held),
    }


def several() -> dict[str, Any]:
    """Train without a break; in two starts; on from a run that one process began."""
    folder = Path(os.environ["TEST_FOLDER"])
    found = {"whole": trained(folder / "whole")}
    trained(folder / "resumed", steps=2)
    if parallel.first():
        shutil.copytree(folder / "resumed", folder / "begun")
    return {
        **found,
        "resumed": trained(folder / "resumed"),
        "from one": trained(folder / "from one"),
        "kernel": error_of_a_kernel(training(folder / f"unused-{parallel.rank()}")),
    }


def error_of_a_kernel(training: Training) -> str:
    """Return the error of a native kernel that is given a divided weight."""
    try:
        native.tensor_address(next(training.model.parameters()))
    except TypeError as error:
        return str(error)
    return ""
