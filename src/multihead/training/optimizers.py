"""Construction of the optimisers of ``training.optimizer``, and their learning rates."""

from typing import Any

import torch
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.recipe.settings import OptimisationSettings
from multihead.system.hardware import pick_dtype
from multihead.training.eager_optimizers import Adam, AdamW
from multihead.training.muon import HIDDEN, Muon, hidden_matrices

RATE_FACTOR = "rate_factor"
"""Key of a parameter group: factor on the learning rate."""


def make_optimizer(model: nn.Module, settings: OptimisationSettings) -> torch.optim.Optimizer:
    """Return Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019) or Muon.

    Weight decay applies to matrices only. With ``layer_decay`` below 1, the learning rate falls by that
    factor per layer, by the model's ``depths``.

    Raises:
        UserError: the model has no trained parameter; Muon for a model without hidden matrices.
    """
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not parameters:
        raise UserError(
            "no parameter of the model is trained: requires_grad is False for all",
            place="model",
            remedy="Set requires_grad of those to be trained.",
        )
    hidden = hidden_matrices(model) if settings.optimizer == "muon" else set()
    layer_decay: float = getattr(settings, "layer_decay", 1.0)
    depths: dict[str, int] = model.depths() if layer_decay < 1 else {}  # type: ignore[operator]
    groups: list[dict[str, Any]] = []
    for depth in sorted({depths.get(name, 0) for name in parameters}):
        here = [p for name, p in parameters.items() if depths.get(name, 0) == depth]
        matrices = [p for p in here if p.dim() >= 2 and p not in hidden]
        others = [p for p in here if p.dim() < 2]
        common = {RATE_FACTOR: layer_decay**depth, HIDDEN: False}
        decay = settings.weight_decay
        groups.append({"params": matrices, "weight_decay": decay, **common})
        groups.append({"params": others, "weight_decay": 0.0, **common})
        if hidden:
            own = [p for p in here if p in hidden]
            groups.append({"params": own, "weight_decay": decay, **common, HIDDEN: True})
    device = next(iter(parameters.values())).device
    on_gpu = device.type == "cuda"
    if on_gpu:
        # CUDA graphs read the learning rate from GPU memory.
        for group in groups:
            group["lr"] = torch.zeros((), device=device)
    # The fused kernel pairs weights, gradients and moments by their places in memory, whatever the strides.
    fused = all(p.is_contiguous() and p.is_floating_point() for p in parameters.values())
    adam: dict[str, Any] = {
        "betas": settings.betas,
        "eps": settings.eps,
        "fused": fused,
        "capturable": on_gpu,
    }
    if settings.optimizer == "muon":
        if not hidden:
            raise UserError(
                '"muon" is for the matrices of attention and feed-forward layers, but this model has none',
                place="training.optimizer",
                remedy="Use adam or adamw.",
            )
        return Muon(groups, pick_dtype(settings.precision, device), lr=0.0, **adam)
    kind = AdamW if settings.optimizer == "adamw" else Adam
    return kind(groups, lr=0.0, **adam)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of every parameter group, times the group's factor."""
    for group in optimizer.param_groups:
        scaled = rate * group.get(RATE_FACTOR, 1.0)
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(scaled)
        else:
            group["lr"] = scaled
