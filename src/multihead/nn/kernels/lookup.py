"""Scaled embedding lookup in the output's format, in one pass (native, CPU).

Equation: Vaswani et al. 2017, sec. 3.4; the gradient of a row is the scaled sum of the gradients at its
occurrences. PyTorch takes separate passes to gather, scale and convert, forward and backward, in float32.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead.system import native


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight_Vd: Tensor, ids: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
        V, d = weight_Vd.shape
        ids = native.ids(ids, V)
        out = weight_Vd.new_empty(*ids.shape, d, dtype=dtype)
        native.call("lookup", dtype, weight_Vd, ids, out, ids.numel(), d, scale)
        ctx.save_for_backward(ids)
        ctx.shape, ctx.scale = weight_Vd.shape, scale
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        (ids,) = ctx.saved_tensors
        dweight_Vd = torch.empty(ctx.shape)
        sizes = (ids.numel(), *ctx.shape)
        native.call(
            "lookup_backward", gradient.dtype, gradient.contiguous(), ids, dweight_Vd, *sizes, ctx.scale
        )
        return dweight_Vd, None, None, None


def lookup(weight_Vd: Tensor, ids: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
    """scale * weight[ids] in this format, (..., d).

    Raises:
        IndexError: an id is out of range.
    """
    out: Tensor = _Lookup.apply(weight_Vd, ids, scale, dtype)  # type: ignore[no-untyped-call]
    return out


def suits(weight_Vd: Tensor, dtype: torch.dtype) -> bool:
    """Return whether the native kernel accepts these."""
    return (
        native.suits(weight_Vd)
        and weight_Vd.dtype == torch.float32
        and dtype in (torch.float32, torch.bfloat16)
        and weight_Vd.is_contiguous()
    )
