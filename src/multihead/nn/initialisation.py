"""Initialisation of weight matrices."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

METHODS: dict[str, Callable[[Tensor], Tensor]] = {
    # Glorot and Bengio 2010, eq. 16: uniform, variance 2 / (fan_in + fan_out).
    "xavier": nn.init.xavier_uniform_,
    # The same variance, normal.
    "xavier_normal": nn.init.xavier_normal_,
    # LeCun et al. 1998, sec. 4.6: variance 1 / fan_in.
    "lecun": lambda weight: nn.init.normal_(weight, std=weight.shape[1] ** -0.5),
    # The same variance, uniform.
    "lecun_uniform": lambda weight: nn.init.uniform_(
        weight, -((3 / weight.shape[1]) ** 0.5), (3 / weight.shape[1]) ** 0.5
    ),
    # He et al. 2015, eq. 10: normal, variance 2 / fan_in, for layers before a ReLU.
    "kaiming": lambda weight: nn.init.normal_(weight, std=(2 / weight.shape[1]) ** 0.5),
    # Radford et al. 2018: one small standard deviation for all.
    "normal": lambda weight: nn.init.normal_(weight, std=0.02),
}


def initialise(module: nn.Module, method: str) -> None:
    """Initialise every linear layer inside ``module``: weights by the method, biases to 0."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            METHODS[method](part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)


OUTPUTS = ("w_o.weight", "w_2.weight", "cell.w.weight")
"""Ends of the names of matrices whose output joins the residual stream."""


def shrink_outputs(module: nn.Module, gain: float) -> None:
    """Multiply the matrices that end the sublayers of a Transformer by a factor.

    A post-norm layer depends heavily on its sublayers, so that in a deep stack every update shifts the output
    much, unless their outputs begin small (Liu et al. 2020, sec. 4; Wang et al. 2022, sec. 3).
    """
    with torch.no_grad():
        for name, weight in module.named_parameters():
            if name.endswith(OUTPUTS):
                weight.mul_(gain)
