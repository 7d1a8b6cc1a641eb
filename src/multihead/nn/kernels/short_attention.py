"""softmax(QK^T / sqrt(d_k)) V in one go for each head, its weights never written to memory (native, CPU).

Equation: Vaswani et al. 2017, eq. 1; gradients as in Dao et al. 2022, appendix B.2, over all keys at once.
Queries, keys and values are read where the projections left them, and the outputs and gradients written where
the next product wants them, so that nothing is transposed or copied.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead import native

LONGEST = 1024
"""Keys up to which it is used; beyond, matrix products in bf16 win."""


class _ShortAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, dropped: int) -> Tensor:
        q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k, v))
        B, H, Q, d_k = q.shape
        K, d_v = v.shape[2:]
        sizes = (B, H, Q, K, d_k, d_v)
        if allowed is not None:
            allowed = allowed.expand(B, H, Q, K)
        seed = native.seed() if dropped else 0
        out, stats = _heads_last(v, B, H, Q, d_v), torch.empty(B, H, Q, 2, dtype=torch.float32)
        native.call(
            "attention",
            q.dtype,
            *_strided(q, k, v),
            allowed,
            (0,) * 4 if allowed is None else allowed.stride(),
            *_strided(out),
            stats,
            sizes,
            seed,
            dropped,
        )
        ctx.save_for_backward(q, k, v, allowed, stats)
        ctx.sizes, ctx.seed, ctx.dropped = sizes, seed, dropped
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, allowed, stats = ctx.saved_tensors
        B, H, Q, K, d_k, d_v = ctx.sizes
        if gradient.stride(-1) != 1:
            gradient = gradient.contiguous()
        dq, dk, dv = (_heads_last(q, B, H, n, d) for n, d in ((Q, d_k), (K, d_k), (K, d_v)))
        native.call(
            "attention_backward",
            q.dtype,
            *_strided(gradient, q, k, v),
            allowed,
            (0,) * 4 if allowed is None else allowed.stride(),
            stats,
            *_strided(dq, dk, dv),
            ctx.sizes,
            ctx.seed,
            ctx.dropped,
        )
        return dq, dk, dv, None, None


def suits(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> bool:
    """Tell whether :func:`attend` can take these."""
    return (
        native.suits(q, k, v)
        and q.dim() == k.dim() == v.dim() == 4
        and q.shape[:2] == k.shape[:2] == v.shape[:2]
        and 0 < k.shape[2] == v.shape[2] <= LONGEST
        and q.shape[3] == k.shape[3]
        and min(q.numel(), v.shape[3]) > 0
        and (allowed is None or (allowed.dtype == torch.bool and allowed.device.type == "cpu"))
    )


def attend(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, dropout: float) -> Tensor:
    """Shapes as ``nn.attention.attention``; dropout of the weights with a chance of so many 256ths."""
    out: Tensor = _ShortAttention.apply(q, k, v, allowed, native.dropped_of_256(dropout))  # type: ignore[no-untyped-call]
    return out


def _heads_last(like: Tensor, B: int, H: int, N: int, d: int) -> Tensor:
    """Uninitialised (B, H, N, d) that lies in memory as (B, N, H, d): heads side by side."""
    return like.new_empty(B, N, H, d).transpose(1, 2)


def _strided(*tensors: Tensor) -> list[Tensor | tuple[int, ...]]:
    return [part for x in tensors for part in (x, x.stride()[:3])]
