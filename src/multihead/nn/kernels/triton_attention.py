"""softmax(QK^T / sqrt(d_k)) V for short sequences, one program per head and sentence (GPU, Triton).

Equation: Vaswani et al. 2017, eq. 1, and its gradient, recomputed from q, k and v. Fused attention for long
sequences works in blocks of 64 or 128 queries and keys, of which a short sentence wastes nine tenths. No two
programs write to one address, so equal inputs give bit-identical results.
Imported only if Triton is available.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

MAX_LENGTH = 64
"""Most queries, and most keys, of a program."""
MAX_HEAD_WIDTH = 128
"""Widest head."""
VARYING = ("mask_b", "mask_q", "mask_k", "Q", "K")
"""Arguments whose values do not specialise the kernel."""


@triton.jit  # type: ignore[untyped-decorator]
def _weights(  # type: ignore[no-untyped-def]
    q,
    k,
    allowed,
    mask_q,
    mask_k,
    scale,
    Q,
    K,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Attention weights of one head; rows sum to 1 or, without any allowed key, are 0, like padding."""
    i, j = tl.arange(0, BLOCK_Q), tl.arange(0, BLOCK_K)
    inside = (i[:, None] < Q) & (j[None, :] < K)
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    if MASKED:
        visible = tl.load(allowed + i[:, None] * mask_q + j[None, :] * mask_k, mask=inside, other=0)
        scores = tl.where(visible != 0, scores, -1e30)
    scores = tl.where(j[None, :] < K, scores, float("-inf"))
    highest = tl.max(scores, axis=1)
    mass = tl.exp(scores - highest[:, None])
    weights = mass / tl.sum(mass, axis=1)[:, None]
    if MASKED:  # a query without any allowed key has weights 0
        weights = tl.where(highest[:, None] > -1e30, weights, 0.0)
    return weights


@triton.jit  # type: ignore[untyped-decorator]
def _tile(  # type: ignore[no-untyped-def]
    base, stride_b, stride_h, stride_n, N, d, heads, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr
):
    """Addresses of one head of one sentence, and the mask of those inside the tensor."""
    program = tl.program_id(0).to(tl.int64)
    n, c = tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    first = base + (program // heads) * stride_b + (program % heads) * stride_h
    return first + n[:, None] * stride_n + c[None, :], (n[:, None] < N) & (c[None, :] < d)


@triton.jit(do_not_specialize=VARYING)  # type: ignore[untyped-decorator]
def _attention_forward(  # type: ignore[no-untyped-def]
    q,
    q_b,
    q_h,
    q_n,
    k,
    k_b,
    k_h,
    k_n,
    v,
    v_b,
    v_h,
    v_n,
    o,
    o_b,
    o_h,
    o_n,
    allowed,
    mask_b,
    mask_q,
    mask_k,
    scale,
    Q,
    K,
    d_k,
    d_v,
    heads,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_V: tl.constexpr,
    MASKED: tl.constexpr,
):
    qs, q_real = _tile(q, q_b, q_h, q_n, Q, d_k, heads, BLOCK_Q, BLOCK_D)
    ks, k_real = _tile(k, k_b, k_h, k_n, K, d_k, heads, BLOCK_K, BLOCK_D)
    vs, v_real = _tile(v, v_b, v_h, v_n, K, d_v, heads, BLOCK_K, BLOCK_V)
    os, o_real = _tile(o, o_b, o_h, o_n, Q, d_v, heads, BLOCK_Q, BLOCK_V)
    queries = tl.load(qs, mask=q_real, other=0.0)
    keys = tl.load(ks, mask=k_real, other=0.0)
    values = tl.load(vs, mask=v_real, other=0.0)
    sentence = allowed + (tl.program_id(0) // heads).to(tl.int64) * mask_b
    p = _weights(queries, keys, sentence, mask_q, mask_k, scale, Q, K, BLOCK_Q, BLOCK_K, MASKED)
    out = tl.dot(p.to(values.dtype), values, input_precision="ieee")
    tl.store(os, out.to(o.dtype.element_ty), mask=o_real)


@triton.jit(do_not_specialize=VARYING)  # type: ignore[untyped-decorator]
def _attention_backward(  # type: ignore[no-untyped-def]
    q,
    q_b,
    q_h,
    q_n,
    k,
    k_b,
    k_h,
    k_n,
    v,
    v_b,
    v_h,
    v_n,
    g,
    g_b,
    g_h,
    g_n,
    dq,
    dq_b,
    dq_h,
    dq_n,
    dk,
    dk_b,
    dk_h,
    dk_n,
    dv,
    dv_b,
    dv_h,
    dv_n,
    allowed,
    mask_b,
    mask_q,
    mask_k,
    scale,
    Q,
    K,
    d_k,
    d_v,
    heads,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_V: tl.constexpr,
    MASKED: tl.constexpr,
):
    qs, q_real = _tile(q, q_b, q_h, q_n, Q, d_k, heads, BLOCK_Q, BLOCK_D)
    ks, k_real = _tile(k, k_b, k_h, k_n, K, d_k, heads, BLOCK_K, BLOCK_D)
    vs, v_real = _tile(v, v_b, v_h, v_n, K, d_v, heads, BLOCK_K, BLOCK_V)
    gs, g_real = _tile(g, g_b, g_h, g_n, Q, d_v, heads, BLOCK_Q, BLOCK_V)
    queries = tl.load(qs, mask=q_real, other=0.0)
    keys = tl.load(ks, mask=k_real, other=0.0)
    values = tl.load(vs, mask=v_real, other=0.0)
    gradient = tl.load(gs, mask=g_real, other=0.0)
    sentence = allowed + (tl.program_id(0) // heads).to(tl.int64) * mask_b
    p = _weights(queries, keys, sentence, mask_q, mask_k, scale, Q, K, BLOCK_Q, BLOCK_K, MASKED)
    grad_values = tl.dot(tl.trans(p.to(gradient.dtype)), gradient, input_precision="ieee")
    grad_p = tl.dot(gradient, tl.trans(values), input_precision="ieee")
    grad_scores = (p * (grad_p - tl.sum(p * grad_p, axis=1)[:, None]) * scale).to(queries.dtype)
    grad_queries = tl.dot(grad_scores, keys, input_precision="ieee")
    grad_keys = tl.dot(tl.trans(grad_scores), queries, input_precision="ieee")
    dqs, _ = _tile(dq, dq_b, dq_h, dq_n, Q, d_k, heads, BLOCK_Q, BLOCK_D)
    dks, _ = _tile(dk, dk_b, dk_h, dk_n, K, d_k, heads, BLOCK_K, BLOCK_D)
    dvs, _ = _tile(dv, dv_b, dv_h, dv_n, K, d_v, heads, BLOCK_K, BLOCK_V)
    tl.store(dqs, grad_queries.to(dq.dtype.element_ty), mask=q_real)
    tl.store(dks, grad_keys.to(dk.dtype.element_ty), mask=k_real)
    tl.store(dvs, grad_values.to(dv.dtype.element_ty), mask=v_real)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> Tensor:
        q, k, v = _unit_stride(q), _unit_stride(k), _unit_stride(v)
        out = _empty_heads_last(q, v.shape[-1])
        arguments, sizes = _arguments(q, k, v, allowed)
        _attention_forward[(q.shape[0] * q.shape[1],)](*_strides(q, k, v, out), *arguments, **sizes)
        ctx.save_for_backward(q, k, v, *(() if allowed is None else (allowed,)))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        q, k, v, *masks = ctx.saved_tensors
        gradient = _unit_stride(gradient)
        dq, dk, dv = (
            _empty_heads_last(q, q.shape[-1]),
            _empty_heads_last(k, k.shape[-1]),
            _empty_heads_last(v, v.shape[-1]),
        )
        arguments, sizes = _arguments(q, k, v, masks[0] if masks else None)
        tensors = _strides(q, k, v, gradient, dq, dk, dv)
        _attention_backward[(q.shape[0] * q.shape[1],)](*tensors, *arguments, **sizes)
        return dq, dk, dv, None


def suits(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> bool:
    """Return whether :func:`attend` accepts these: short sequences, narrow heads, one mask for all heads."""
    return (
        max(q.shape[2], k.shape[2]) <= MAX_LENGTH
        and max(q.shape[3], v.shape[3]) <= MAX_HEAD_WIDTH
        and q.dtype == k.dtype == v.dtype
        and q.dtype in (torch.float32, torch.bfloat16, torch.float16)
        and (allowed is None or (allowed.dim() == 4 and allowed.shape[1] == 1))
        and min(q.shape) > 0
        and k.shape[2] > 0
    )


def attend(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> Tensor:
    """Attend; shapes as ``nn.attention.attention``."""
    out: Tensor = _Attention.apply(q, k, v, allowed)  # type: ignore[no-untyped-call]
    return out


def _arguments(
    q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None
) -> tuple[tuple[object, ...], dict[str, object]]:
    """The kernels' arguments after the tensors: the mask with its strides, and sizes."""
    (_, heads, Q, d_k), K, d_v = q.shape, k.shape[2], v.shape[3]
    mask: tuple[object, ...] = (q, 0, 0, 0)
    if allowed is not None:
        bytes_B1QK = allowed.expand(q.shape[0], 1, Q, K).view(torch.uint8)
        mask = (bytes_B1QK, bytes_B1QK.stride(0), bytes_B1QK.stride(2), bytes_B1QK.stride(3))
    # One size of tile for queries and keys: every pair of sizes is compiled.
    block = max(16, triton.next_power_of_2(max(Q, K)))
    sizes = {
        "BLOCK_Q": block,
        "BLOCK_K": block,
        "BLOCK_D": max(16, triton.next_power_of_2(d_k)),
        "BLOCK_V": max(16, triton.next_power_of_2(d_v)),
        "MASKED": allowed is not None,
        "num_warps": 1 if block == 16 else 4,
    }
    return (*mask, d_k**-0.5, Q, K, d_k, d_v, heads), sizes


def _strides(*tensors: Tensor) -> list[object]:
    return [part for x in tensors for part in (x, x.stride(0), x.stride(1), x.stride(2))]


def _unit_stride(x_BHNd: Tensor) -> Tensor:
    return x_BHNd if x_BHNd.stride(3) == 1 else x_BHNd.contiguous()


def _empty_heads_last(like_BHNd: Tensor, d: int) -> Tensor:
    """An uninitialised (B, H, N, d) in the layout (B, N, H, d) of the linear layers around it."""
    B, H, N, _ = like_BHNd.shape
    return like_BHNd.new_empty(B, N, H, d).transpose(1, 2)


def prove(device: torch.device) -> None:
    """Compare an example with the equation; see ``multihead.system.gpu``."""
    q, k, v = (torch.randn(2, 3, n, 32, device=device, requires_grad=True) for n in (5, 7, 7))
    allowed = (torch.arange(7, device=device) < torch.tensor([[7], [4]], device=device))[:, None, None]
    actual, expected = attend(q, k, v, allowed), scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    assert_close(actual, expected, atol=1e-3, rtol=1e-3)
    gradient = torch.randn_like(expected)
    grads = [torch.autograd.grad(out, [q, k, v], gradient) for out in (actual, expected)]
    assert_close(*grads, atol=1e-3, rtol=1e-3)
