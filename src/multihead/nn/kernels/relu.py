"""max(0, x), and its gradient from its output alone (native, CPU).

Equation: the inner part of Vaswani et al. 2017, eq. 2. The backward pass does not need the input: the
gradient passes wherever the output is positive.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead.system import native


class _Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        native.call("relu", x.dtype, x, out, x.numel())
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return relu_gradient(gradient, *ctx.saved_tensors)


def relu_gradient(gradient: Tensor, out: Tensor) -> Tensor:
    """The gradient of ReLU's input, given its output: passed wherever the output is positive."""
    if not native.suits(gradient, out):
        return torch.ops.aten.threshold_backward(gradient, out, 0)  # type: ignore[no-any-return]
    passed = torch.empty_like(out)
    native.call("relu_backward", out.dtype, gradient.contiguous(), out, passed, out.numel())
    return passed


def relu(x: Tensor) -> Tensor:
    """max(0, x); any shape."""
    out: Tensor = _Relu.apply(x)  # type: ignore[no-untyped-call]
    return out
