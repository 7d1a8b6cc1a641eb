"""The optimisers of ``training.optimizer``."""

from typing import Any

import torch
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.hardware import pick_dtype
from multihead.settings import OptimisationSettings
from multihead.training.muon import INNER, Muon, inner_matrices

PART = "part"
"""Of a group of parameters: its rate as a part of the training's."""


def make_optimizer(model: nn.Module, settings: OptimisationSettings) -> torch.optim.Optimizer:
    """Return Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019) or Muon; only matrices decay.

    With ``layer_decay`` below 1 the rate falls from layer to layer, as ``depths`` of the model says.

    Raises:
        UserError: Muon for a model that has none of the matrices that it is for.
    """
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    inner = inner_matrices(model) if settings.optimizer == "muon" else set()
    layer_decay: float = getattr(settings, "layer_decay", 1.0)
    depths: dict[str, int] = model.depths() if layer_decay < 1 else {}  # type: ignore[operator]
    groups: list[dict[str, Any]] = []
    for depth in sorted({depths.get(name, 0) for name in parameters}):
        here = [p for name, p in parameters.items() if depths.get(name, 0) == depth]
        matrices = [p for p in here if p.dim() >= 2 and p not in inner]
        others = [p for p in here if p.dim() < 2]
        part = layer_decay**depth
        groups.append({"params": matrices, "weight_decay": settings.weight_decay, PART: part, INNER: False})
        groups.append({"params": others, "weight_decay": 0.0, PART: part, INNER: False})
        if inner:
            own = [p for p in here if p in inner]
            groups.append({"params": own, "weight_decay": settings.weight_decay, PART: part, INNER: True})
    device = next(iter(parameters.values())).device
    on_gpu = device.type == "cuda"
    if on_gpu:
        # Where the step's kernels are recorded (``captured``), its rate is read from the GPU's memory.
        for group in groups:
            group["lr"] = torch.zeros((), device=device)
    adam: dict[str, Any] = {"betas": settings.betas, "eps": settings.eps, "fused": True, "capturable": on_gpu}
    if settings.optimizer == "muon":
        if not inner:
            raise UserError(
                '"muon" is for the matrices of attention and feed-forward networks, and this model has none',
                place="training.optimizer",
                remedy="Leave it at adam, or say adamw.",
            )
        return Muon(groups, pick_dtype(settings.precision, device), lr=0.0, **adam)
    kind = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, lr=0.0, **adam)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use this learning rate from now on; a group that has a part of it uses that."""
    for group in optimizer.param_groups:
        own = rate * group.get(PART, 1.0)
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(own)
        else:
            group["lr"] = own
