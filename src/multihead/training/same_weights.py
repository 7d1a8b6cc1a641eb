"""Check that all processes of a training hold the same weights."""

import hashlib

import torch
from torch import nn

from multihead import parallel


def weights_hash(model: nn.Module) -> str:
    """Return the SHA-256 of a model's weights and buffers, in the order of their names."""
    found = hashlib.sha256()
    for name, weight in sorted(model.state_dict().items()):
        found.update(name.encode())
        found.update(weight.detach().cpu().contiguous().flatten().view(dtype=torch.uint8).numpy().data)
    return found.hexdigest()


def refuse_other_weights(model: nn.Module, step: int) -> None:
    """Compare the weights between the processes before they are saved, unless each holds a part of them.

    Raises:
        UserError: a process has other weights than the first.
    """
    divided = any(hasattr(weight, "to_local") for weight in model.parameters())
    if parallel.world() > 1 and not divided:
        parallel.compare(
            {f"the weights after update {step}": weights_hash(model)[:16]},
            "The same command resumes from the last saved state. If it happens again, compare the machines: "
            "processors, kernels (`multihead doctor`), memory.",
        )
