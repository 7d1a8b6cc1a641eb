"""x * mask / keep, mask from bytes: one 64-bit random number decides over eight elements (CPU).

Equation: y = x * m / (1 - p), m ~ Bernoulli(1 - p), with p rounded to a multiple of 1/256. The native
one makes the mask from a seed as it goes, forward and backward, and stores none.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead import native


def dropped_of_256(p: float) -> int:
    """The chance p of dropout as kernels take it: the number of byte values, of 256, that drop an element."""
    return min(255, round(p * 256))


class _ByteDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped_of_256: int) -> Tensor:
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64)
        words.random_(torch.iinfo(torch.int64).min, None)
        # As numbers of x: a product with truth values would convert them in both passes.
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
    """Dropout of chance round(256 p) / 256 on a CPU tensor of any shape.

    Where it is compiled it is PyTorch's dropout: the compiler cannot look into a function that draws its
    numbers in place, and makes one loop of what it can look into.
    """
    if torch.compiler.is_compiling():
        return torch.dropout(x, p, train=True)
    suits = native.ON and native.suits(x) and x.dim() > 0 and x.numel() > 0
    kind = _NativeDropout if suits else _ByteDropout
    dropped: Tensor = kind.apply(x, dropped_of_256(p))  # type: ignore[no-untyped-call]
    return dropped
