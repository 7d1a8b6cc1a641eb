"""Linear layers, layer normalisation and dropout: PyTorch's modules, computed by ``nn.ops``."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn import ops


class Linear(nn.Linear):
    """x W^T + b."""

    linear_spec = True  # ``description.linear`` reads it; not inherited: a subclass must set its own

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) to (..., e)."""
        return ops.linear(x, (self.weight, self.bias))[0]


def all_linear(x: Tensor, *layers: nn.Module, with_relu: bool = False) -> tuple[Tensor, ...]:
    """x W^T + b, or max(0, x W^T + b), of several layers, as one product if that is faster.

    Args:
        x: (..., d).
        layers: layers that read x; each returns (..., e), with its own e.
        with_relu: whether ReLU follows.
    """
    # Another class of layer, or a changed one, is called as a module.
    plain = [layer for layer in layers if isinstance(layer, Linear) and as_published(layer, Linear)]
    if len(plain) == len(layers):
        return ops.linear(x, *((layer.weight, layer.bias) for layer in plain), with_relu=with_relu)
    outs = tuple(layer(x) for layer in layers)
    return tuple(map(ops.relu, outs)) if with_relu else outs


class LayerNorm(nn.LayerNorm):
    """Layer normalisation over the last axis (Ba et al. 2016, eq. 4).

    Args:
        d_model: width of the axis.
    """

    layer_norm_spec = True  # ``description.norm`` reads it; not inherited: a subclass must set its own

    def __init__(self, d_model: int) -> None:
        super().__init__(d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as x."""
        return ops.layer_norm(x, self)


class RMSNorm(nn.Module):
    """gamma x / sqrt(mean(x^2) + epsilon) over the last axis (Zhang and Sennrich 2019, eq. 4).

    No mean is subtracted, and there is no bias.

    Args:
        d_model: width of the axis.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = 1e-6

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as x."""
        return F.rms_norm(x, (len(self.weight),), self.weight.to(x.dtype), self.eps)


def set_epsilon(module: nn.Module, epsilon: float) -> None:
    """Set the epsilon of every layer norm and RMS norm of a module."""
    for part in module.modules():
        if isinstance(part, nn.LayerNorm | RMSNorm):
            part.eps = epsilon


class Dropout(nn.Module):
    """Dropout in training: zero elements with probability p, rescale the rest (Srivastava et al. 2014)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    @property
    def active_p(self) -> float:
        """The probability in force: p in training, else 0."""
        return self.p if self.training else 0.0

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as x."""
        return ops.dropout(x, self.active_p)

    def extra_repr(self) -> str:
        """The probability, as ``repr`` shows it."""
        return f"p={self.p}"


PUBLISHED: dict[type[nn.Module], object] = {kind: kind.forward for kind in (Linear, LayerNorm, Dropout)}
"""The ``forward`` of each class that kernels compute in the module's place."""


def as_published(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Return whether a kernel may compute a module: of this very class, without a hook or another forward."""
    return type(module) is kind and kind.forward is PUBLISHED[kind] and change(module) is None


def change(module: nn.Module) -> str | None:
    """Return what makes a module compute something else than its class, or watches it; None: nothing does."""
    if module._forward_hooks or module._forward_pre_hooks:
        return "a hook"
    if module._backward_hooks or module._backward_pre_hooks:
        return "a backward hook"
    return "a replaced forward" if "forward" in vars(module) else None
