"""x * mask / keep, mask from bytes: one 64-bit random number decides over eight elements (CPU).

Equation: y = x * m / (1 - p), m ~ Bernoulli(1 - p), with p rounded to a multiple of 1/256.
"""

from typing import Any

import torch
from torch import Tensor


class _ByteDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped_of_256: int) -> Tensor:
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64)
        words.random_(torch.iinfo(torch.int64).min, None)
        keep = words.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped_of_256
        ctx.save_for_backward(keep)
        ctx.scale = 256 / (256 - dropped_of_256)
        dropped: Tensor = x * keep * ctx.scale
        return dropped

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return gradients[0] * keep * ctx.scale, None


def byte_dropout(x: Tensor, p: float) -> Tensor:
    """Dropout of chance round(256 p) / 256 on a CPU tensor of any shape.

    Where it is compiled it is PyTorch's dropout: the compiler cannot look into a function that draws its
    numbers in place, and makes one loop of what it can look into.
    """
    if torch.compiler.is_compiling():
        return torch.dropout(x, p, train=True)
    dropped: Tensor = _ByteDropout.apply(x, min(255, round(p * 256)))  # type: ignore[no-untyped-call]
    return dropped
