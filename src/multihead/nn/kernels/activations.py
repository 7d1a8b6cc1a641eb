"""ReLU, and GELU by its approximation with tanh, with their gradients (native, CPU).

Equations: max(0, x), the inner part of Vaswani et al. 2017, eq. 2, whose gradient passes wherever the output
is positive; 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016, sec. 2),
computed as x times a sigmoid.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead.system import native


class _Activation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, kernel: str) -> Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        native.call(kernel, x.dtype, x, out, x.numel())
        ctx.kernel = kernel
        ctx.save_for_backward(out if kernel == "relu" else x)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _gradient(ctx.kernel, gradient, *ctx.saved_tensors), None


def _gradient(kernel: str, gradient: Tensor, saved: Tensor) -> Tensor:
    dx = torch.empty_like(saved)
    native.call(f"{kernel}_backward", saved.dtype, gradient.contiguous(), saved, dx, saved.numel())
    return dx


def relu_gradient(gradient: Tensor, out: Tensor) -> Tensor:
    """The gradient of ReLU's input, given its output: passed wherever the output is positive."""
    if not native.suits(gradient, out):
        return torch.ops.aten.threshold_backward(gradient, out, 0)  # type: ignore[no-any-return]
    return _gradient("relu", gradient, out)


def relu(x: Tensor) -> Tensor:
    """max(0, x); any shape."""
    out: Tensor = _Activation.apply(x, "relu")  # type: ignore[no-untyped-call]
    return out


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by tanh; any shape."""
    out: Tensor = _Activation.apply(x, "gelu_tanh")  # type: ignore[no-untyped-call]
    return out
