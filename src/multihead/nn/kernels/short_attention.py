"""Fused softmax(QK^T / sqrt(d_k)) V for short sequences; weights are never written to memory (native, CPU).

Equation: Vaswani et al. 2017, eq. 1; gradients as in Dao et al. 2022, appendix B.2, over all keys at once.
The kernel reads queries, keys and values in the projections' layout and writes outputs and gradients in the
next product's, so nothing is transposed or copied.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead.nn.kernels.byte_dropout import dropped_of_256
from multihead.nn.kernels.stacked_linear import adjacent
from multihead.system import native

MAX_KEYS = 1024
"""Largest number of keys; beyond it, matrix products in bf16 are faster."""


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
        native.call("attention", q.dtype, _describe(q, k, v, allowed, ctx.drop), _strides(out), stats)
        ctx.save_for_backward(q, k, v, allowed, stats)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, allowed, stats = ctx.saved_tensors
        if gradient.stride(-1) != 1:
            gradient = gradient.contiguous()
        dq, dk, dv = laid_out_like(q, k, v)
        described = _describe(q, k, v, allowed, ctx.drop)
        native.call("attention_backward", q.dtype, described, _strides(gradient), stats, _strides(dq, dk, dv))
        return dq, dk, dv, None, None


def suits(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> bool:
    """Return whether :func:`attend` accepts these."""
    return (
        native.suits(q, k, v)
        and q.dim() == k.dim() == v.dim() == 4
        and q.shape[:2] == k.shape[:2] == v.shape[:2]
        and 0 < k.shape[2] == v.shape[2] <= MAX_KEYS
        and q.shape[3] == k.shape[3]
        and min(q.numel(), v.shape[3]) > 0
        and (allowed is None or (allowed.dtype == torch.bool and allowed.device.type == "cpu"))
    )


def attend(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, dropout: float) -> Tensor:
    """As ``nn.attention.attention``, with dropout of the weights, rounded to a multiple of 1/256."""
    out: Tensor = _ShortAttention.apply(q, k, v, allowed, dropped_of_256(dropout))  # type: ignore[no-untyped-call]
    return out


def laid_out_like(q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
    """Uninitialised tensors of these shapes, adjacent in memory where the arguments are.

    So the gradients of one product's outputs form one matrix, which its backward pass can multiply.
    """
    shared = [(q, k, v)] if _adjacent(q, k, v) else [(q,), (k, v)] if _adjacent(k, v) else [(q,), (k,), (v,)]
    return [tensor for group in shared for tensor in _heads_last(*group)]


def _adjacent(*tensors: Tensor) -> bool:
    """Return whether these are views of one tensor (B, N, heads of all tensors)."""
    whole = all(x.stride(1) == x.shape[3] for x in tensors)
    return whole and adjacent([x.transpose(1, 2).flatten(2) for x in tensors])


def _heads_last(*like: Tensor) -> list[Tensor]:
    """Uninitialised tensors (B, H, N, d), views of one (B, N, heads of all tensors)."""
    B, H, N, _ = like[0].shape
    widths = [H * x.shape[3] for x in like]
    parts = like[0].new_empty(B, N, sum(widths)).split_with_sizes(widths, -1)
    return [part.view(B, N, H, -1).transpose(1, 2) for part in parts]


def _describe(
    q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, drop: tuple[int, int]
) -> tuple[int, ...]:
    mask = (0,) * 5 if allowed is None else (allowed.data_ptr(), *allowed.stride())
    return *_strides(q, k, v), *mask, *q.shape[:3], *k.shape[2:], v.shape[3], *drop


def _strides(*tensors: Tensor) -> tuple[int, ...]:
    return tuple(part for x in tensors for part in (x.data_ptr(), *x.stride()[:3]))
