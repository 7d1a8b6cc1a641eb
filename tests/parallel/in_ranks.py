"""Functions that the tests of this folder run in each of several processes."""

import os
from pathlib import Path
from typing import Any

import torch
from backwards import Silent, fit, training_in
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.run import Run
from multihead.system import parallel
from multihead.training.distributed.reduction import Reduction

SHARDS = 5
SHAPES = ((3, 7), (11,), (2, 5, 3), (13,))


def gradient(shard: int, parameter: int) -> Tensor | None:
    """Return a gradient whose sum depends on the order; some shards have none for some parameters."""
    if parameter == 3 or (parameter == 1 and shard in (0, 3)):
        return None
    chance = torch.Generator().manual_seed(97 * shard + parameter)
    scale = 10.0 ** (shard % 3 * 3)
    found = torch.randn(SHAPES[parameter], generator=chance) * scale
    return -0.0 * found if parameter == 2 else found


def parameters() -> list[nn.Parameter]:
    return [nn.Parameter(torch.zeros(shape)) for shape in SHAPES]


def accumulated() -> list[Tensor | None]:
    """Return the gradients as one process accumulates them."""
    found: list[Tensor | None] = [None] * len(SHAPES)
    for shard in range(SHARDS):
        for number in range(len(SHAPES)):
            if (own := gradient(shard, number)) is not None:
                before = found[number]
                found[number] = own.clone() if before is None else before + own
    return found


def reduced(*, ordered: bool) -> dict[str, Any]:
    """Reduce the gradients of all shards; return them as lists of bytes, and the terms of each shard."""
    made = parameters()
    reduction = Reduction(made, SHARDS, ordered=ordered)
    terms: list[list[float]] = []
    for number in range(reduction.rounds):
        shard = number * parallel.world() + parallel.rank()
        if shard < SHARDS:
            for place, parameter in enumerate(made):
                own = gradient(shard, place)
                if own is not None:
                    parameter.grad = own if parameter.grad is None else parameter.grad + own
        terms += reduction.add(number, [float(shard)] if shard < SHARDS else [0.0])
    reduction.finish()
    grads = [None if p.grad is None else p.grad.numpy().tobytes().hex() for p in made]
    return {"grads": grads, "terms": terms}


def exchanges() -> dict[str, Any]:
    """Try every way of exchanging facts and tensors."""
    rank = parallel.rank()
    sent = {"a": torch.arange(7.0).bfloat16(), "b": torch.tensor(3)} if rank == 0 else {}
    order = [parallel.in_turn(lambda: rank)]
    try:
        parallel.require_equal_facts({"threads": 1, "kernels": f"level {rank}"}, "Use equal machines.")
        refused = ""
    except UserError as error:
        refused = str(error)
    return {
        "agreed": parallel.gather_numbers([float(rank), 2.0**53 - 1]),
        "first": parallel.from_first(lambda: {"rank": rank}),
        "shared": {name: [str(t.dtype), t.tolist()] for name, t in parallel.share_tensors(sent).items()},
        "order": order,
        "refused": refused,
        "ordered": reduced(ordered=True),
        "fast": reduced(ordered=False),
        "trained": trained(),
        "sharded": trained(shard_optimizer=True),
    }


def trained(**changed: object) -> dict[str, Any]:
    """Train in a folder, in two starts; return the weights, the metrics of all updates, the saved state."""
    torch.set_num_threads(1)
    folder = Path(os.environ["TEST_FOLDER"], "-".join(["run", *changed]))
    run_of(folder, {**SETTINGS, **changed, "steps": 3})
    return run_of(folder, {**SETTINGS, **changed})


def run_of(folder: Path, settings: dict[str, object]) -> dict[str, Any]:
    observer, follows = Silent(), not parallel.first()
    training = training_in(folder / str(follows), observer=observer, settings=settings, follows=follows)
    outcome = fit(training)
    kept = ("step", "epoch", "loss", "norm", "tokens", "rate")
    found = Run(folder / "False").load_state() if parallel.first() else None
    moments = {n: t.numpy().tobytes().hex() for n, t in found[0].items()} if found else {}
    return {
        "own": sum("momentum" in s or "exp_avg" in s for s in training.state.optimizer.state.values()),
        "state": moments,
        "weights": {n: w.numpy().tobytes().hex() for n, w in training.model.state_dict().items()},
        "updates": [{name: event[name] for name in kept} for event in observer.updates],
        "outcome": [outcome.status, outcome.weights, outcome.metrics],
    }


SETTINGS: dict[str, object] = {"accumulate": 3, "ema": 0.9, "steps": 7, "log_every": 2, "optimizer": "muon"}
