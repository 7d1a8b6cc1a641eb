"""Dropout with one random byte per element: a 64-bit random number decides eight elements (CPU).

Equation: y = x * m / (1 - p), m ~ Bernoulli(1 - p), with p rounded to a multiple of 1/256. The native kernel
stores no mask: forward and backward derive it from the same seed.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead.system import native


def dropped_of_256(p: float) -> int:
    """Return the probability p of dropout as the number of byte values, of 256, that drop an element."""
    return min(255, round(p * 256))


class _ByteDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped_of_256: int) -> Tensor:
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64)
        words.random_(torch.iinfo(torch.int64).min, None)
        # In the format of x: a product with booleans would convert them in both passes.
        keep = (words.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped_of_256).to(x.dtype)
        ctx.save_for_backward(keep)
        ctx.scale = 256 / (256 - dropped_of_256)
        return _scaled_product(x, keep, ctx.scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return _scaled_product(gradients[0], keep, ctx.scale), None


def _scaled_product(x: Tensor, keep: Tensor, scale: float) -> Tensor:
    """``scale * x * keep``, in one pass."""
    return torch.addcmul(x.new_zeros(()), x, keep, value=scale)


class _NativeDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped_of_256: int) -> Tensor:
        ctx.seed, ctx.dropped = native.seed(), dropped_of_256
        return _native(x, ctx.seed, ctx.dropped)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _native(gradient, ctx.seed, ctx.dropped), None


def _native(x: Tensor, seed: int, dropped_of_256: int) -> Tensor:
    x = x.contiguous()
    out, columns = torch.empty_like(x), x.shape[-1]
    native.call("dropout", x.dtype, x, out, x.numel() // columns, columns, seed, dropped_of_256)
    return out


def byte_dropout(x: Tensor, p: float) -> Tensor:
    """Dropout with probability round(256 p) / 256 on a CPU tensor of any shape.

    Compiled code uses PyTorch's dropout, which the compiler can fuse; it cannot trace a function that draws
    random numbers in place.
    """
    if torch.compiler.is_compiling():
        return torch.dropout(x, p, train=True)
    suits = native.ON and native.suits(x) and x.dim() > 0 and x.numel() > 0
    kind = _NativeDropout if suits else _ByteDropout
    dropped: Tensor = kind.apply(x, dropped_of_256(p))  # type: ignore[no-untyped-call]
    return dropped
