"""GELU by its approximation with tanh, and its gradient (native, CPU).

Equation: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016, sec. 2), computed as x
times a sigmoid.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead.system import native


class _GeluTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        native.call("gelu_tanh", x.dtype, x, out, x.numel())
        ctx.save_for_backward(x)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        dx = torch.empty_like(x)
        native.call("gelu_tanh_backward", x.dtype, gradient.contiguous(), x, dx, x.numel())
        return dx


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by tanh; any shape."""
    out: Tensor = _GeluTanh.apply(x)  # type: ignore[no-untyped-call]
    return out
