"""One tensor for two readers, what they send back added up in one pass (native, CPU, bf16).

A residual connection and its sublayer read the same x, so that d loss / d x is a sum of two. What it gains:
autograd's own addition of bf16 takes 1.8 times as long; a small model's update is 1.02 times as fast.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead import native


class _Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        return x.view_as(x), x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, first: Tensor | None, second: Tensor | None) -> Tensor | None:
        if first is None or second is None:
            return second if first is None else first
        first, second = first.contiguous(), second.contiguous()
        out, columns = torch.empty_like(first), first.shape[-1]
        rows = out.numel() // columns
        no_norm = (None, None, None)
        native.call("residual", out.dtype, first, second, None, out, *no_norm, rows, columns, 0, 0)
        return out


def twice(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return x for both readers; their gradients are added in one pass."""
    if not (x.requires_grad and x.dtype == torch.bfloat16 and x.numel() and native.suits(x)):
        return x, x
    first, second = _Twice.apply(x)  # type: ignore[no-untyped-call]
    return first, second
