"""The optimiser, and its state as plain tensors."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from multihead.settings import Learning

PREFIX = "optimizer."


def make_optimizer(model: nn.Module, settings: Learning) -> torch.optim.Optimizer:
    """Return Adam (Kingma and Ba 2015) or AdamW (Loshchilov and Hutter 2019); only matrices decay."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in parameters if parameter.dim() >= 2]
    others = [parameter for parameter in parameters if parameter.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    kind = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, lr=0.0, betas=settings.betas, eps=settings.eps, fused=True)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use this learning rate from now on."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def state_tensors(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """Return what the optimiser remembers, as "optimizer.<what>.<parameter>"."""
    return {
        f"{PREFIX}{what}.{name}": value
        for name, parameter in model.named_parameters()
        for what, value in optimizer.state.get(parameter, {}).items()
    }


def load_state_tensors(
    optimizer: torch.optim.Optimizer, model: nn.Module, tensors: Mapping[str, Tensor]
) -> None:
    """Give the optimiser back what :func:`state_tensors` returned."""
    for name, parameter in model.named_parameters():
        for what in ("step", "exp_avg", "exp_avg_sq"):
            key = f"{PREFIX}{what}.{name}"
            if key in tensors:
                place = parameter.device
                optimizer.state[parameter][what] = tensors[key].to(place, copy=True)
