"""Check that all processes of a training hold the same weights."""

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from multihead.system import parallel

LIKE_ONE = "A layer that computes something else in each process is trained by one process."


def refuse_other_shapes(model: nn.Module) -> None:
    """Compare the names and shapes of the weights between the processes, before the first sends its own.

    Raises:
        UserError: a layer has other weights than in the first process.
    """
    parallel.require_equal_facts(
        {f"the shape of {name}": [*weight.shape] for name, weight in model.state_dict().items()}, LIKE_ONE
    )


def weights_hash(weights: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of weights, in the order of their names."""
    digest = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(weight.detach().cpu().contiguous().flatten().view(dtype=torch.uint8).numpy().data)
    return digest.hexdigest()


def refuse_other_weights(model: nn.Module, step: int) -> None:
    """Compare buffers, and weights unless each process holds a part of them, before they are saved.

    Raises:
        UserError: a process has other weights than the first, or other buffers: a layer changes them in
            ``forward`` by the batches of its process.
    """
    if parallel.world() > 1:
        weights = model.state_dict()
        buffers = {
            name: weights.pop(name)
            for name, _ in model.named_buffers(remove_duplicate=False)
            if name in weights
        }
        parallel.require_equal_facts(
            {f"the buffer {name}": weights_hash({name: buffer})[:16] for name, buffer in buffers.items()},
            LIKE_ONE,
        )
        if any(hasattr(weight, "to_local") for weight in weights.values()):
            return
        parallel.require_equal_facts(
            {f"the weights after update {step}": weights_hash(weights)[:16]},
            "The same command resumes from the last saved state. If it happens again, compare the machines: "
            "processors, kernels (`multihead doctor`), memory.",
        )
