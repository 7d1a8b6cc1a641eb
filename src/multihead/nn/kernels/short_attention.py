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
from multihead.nn.kernels.byte_dropout import dropped_of_256
from multihead.nn.kernels.stacked_linear import side_by_side

LONGEST = 1024
"""Keys up to which it is used; beyond, matrix products in bf16 win."""


class _ShortAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, dropped: int) -> Tensor:
        q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k, v))
        B, H, Q, _ = q.shape
        K, d_v = v.shape[2:]
        if allowed is not None:
            allowed = allowed.expand(B, H, Q, K)
        ctx.drop = native.seed() if dropped else 0, dropped
        out = q.new_empty(B, Q, H, d_v).transpose(1, 2)
        stats = torch.empty(B, H, 2, Q, dtype=torch.float32)
        native.call("attention", q.dtype, _described(q, k, v, allowed, ctx.drop), _strided(out), stats)
        ctx.save_for_backward(q, k, v, allowed, stats)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, allowed, stats = ctx.saved_tensors
        if gradient.stride(-1) != 1:
            gradient = gradient.contiguous()
        dq, dk, dv = laid_out_like(q, k, v)
        described = _described(q, k, v, allowed, ctx.drop)
        native.call("attention_backward", q.dtype, described, _strided(gradient), stats, _strided(dq, dk, dv))
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
    out: Tensor = _ShortAttention.apply(q, k, v, allowed, dropped_of_256(dropout))  # type: ignore[no-untyped-call]
    return out


def laid_out_like(q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
    """Uninitialised tensors of their shapes, which lie side by side in memory where these do.

    So the gradients of what came out of one product are one matrix when it is multiplied back.
    """
    shared = [(q, k, v)] if _beside(q, k, v) else [(q,), (k, v)] if _beside(k, v) else [(q,), (k,), (v,)]
    return [made for group in shared for made in _heads_last(*group)]


def _beside(*tensors: Tensor) -> bool:
    """Tell whether these are parts of one (B, N, heads of all side by side)."""
    whole = all(x.stride(1) == x.shape[3] for x in tensors)
    return whole and side_by_side([x.transpose(1, 2).flatten(2) for x in tensors])


def _heads_last(*like: Tensor) -> list[Tensor]:
    """Uninitialised (B, H, N, d), whose heads lie side by side in memory, then those of the next."""
    B, H, N, _ = like[0].shape
    widths = [H * x.shape[3] for x in like]
    parts = like[0].new_empty(B, N, sum(widths)).split_with_sizes(widths, -1)
    return [part.view(B, N, H, -1).transpose(1, 2) for part in parts]


def _described(
    q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, drop: tuple[int, int]
) -> tuple[int, ...]:
    mask = (0,) * 5 if allowed is None else (allowed.data_ptr(), *allowed.stride())
    return *_strided(q, k, v), *mask, *q.shape[:3], *k.shape[2:], v.shape[3], *drop


def _strided(*tensors: Tensor) -> tuple[int, ...]:
    return tuple(part for x in tensors for part in (x.data_ptr(), *x.stride()[:3]))
