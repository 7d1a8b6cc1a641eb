"""Attention within a window, in blocks of queries and keys, forward and backward (GPU, Triton).

Equation: Vaswani et al. 2017, eq. 1, over the keys of a window (sec. 4; Beltagy et al. 2020, sec. 3.1), with
the running maximum and sum of FlashAttention (Dao et al. 2022, alg. 1 and 2). A block of queries meets only
the blocks of keys that its windows cover, and no weight is stored. No two programs write to one address, so
equal inputs give bit-identical results.
Imported only if Triton is available.
"""

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.testing import assert_close

BLOCK = 64
"""Queries, and keys, of a block."""
MAX_HEAD_WIDTH = 128
"""Widest head."""
VARYING = ("N", "before", "after", "mask_b", "mask_f", "mask_n", "rows", "phases", "p")
"""Arguments whose values do not specialise the kernel."""


@triton.jit  # type: ignore[untyped-decorator]
def _tile(  # type: ignore[no-untyped-def]
    base, x, first, N, d, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr
):
    """Addresses of a block of row x of a contiguous (X, N, d), and the mask of those inside it."""
    n, c = first + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    return base + (x * N + n[:, None]) * d + c[None, :], (n[:, None] < N) & (c[None, :] < d)


@triton.jit  # type: ignore[untyped-decorator]
def _visible(  # type: ignore[no-untyped-def]
    x, i, j, N, before, after, allowed, mask_b, mask_f, mask_n, rows, phases, MASKED: tl.constexpr
):
    """True where query i sees key j: in its window, inside the text, and not masked."""
    seen = (j >= i - before) & (j <= i + after) & (i < N) & (j < N)
    if MASKED:
        text = allowed + (x // rows) * mask_b + (x % phases) * mask_f
        seen = seen & (tl.load(text + j * mask_n, mask=j < N, other=0) != 0)
    return seen


@triton.jit
def _keep(seed, x, i, j, N, before, after, p):  # type: ignore[no-untyped-def]
    """Dropout's factors, 0 or 1 / (1 - p): functions of the seed and of a weight's place."""
    at = (x * N + i) * (before + after + 1) + (j - i + before)
    return tl.where(tl.rand(tl.load(seed), at.to(tl.uint32), n_rounds=7) >= p, 1 / (1 - p), 0.0)


@triton.jit(do_not_specialize=VARYING)  # type: ignore[untyped-decorator]
def _window_forward(  # type: ignore[no-untyped-def]
    q,
    k,
    v,
    out,
    lse,
    allowed,
    seed,
    mask_b,
    mask_f,
    mask_n,
    rows,
    phases,
    N,
    before,
    after,
    scale,
    p,
    d_k: tl.constexpr,
    d_v: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_V: tl.constexpr,
    MASKED: tl.constexpr,
    DROP: tl.constexpr,
):
    start, x = tl.program_id(0) * BLOCK_N, tl.program_id(1).to(tl.int64)
    i = start + tl.arange(0, BLOCK_N)
    at_queries, real_q = _tile(q, x, start, N, d_k, BLOCK_N, BLOCK_D)
    queries = tl.load(at_queries, mask=real_q, other=0.0)
    top = tl.full((BLOCK_N,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_N,), tl.float32)
    mixed = tl.zeros((BLOCK_N, BLOCK_V), tl.float32)
    first = tl.maximum(start - before, 0) // BLOCK_N * BLOCK_N
    for at in range(first, tl.minimum(start + BLOCK_N + after, N), BLOCK_N):
        j = at + tl.arange(0, BLOCK_N)
        at_keys, real_k = _tile(k, x, at, N, d_k, BLOCK_N, BLOCK_D)
        keys = tl.load(at_keys, mask=real_k, other=0.0)
        seen = _visible(
            x, i[:, None], j[None, :], N, before, after, allowed, mask_b, mask_f, mask_n, rows, phases, MASKED
        )
        s = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        s = tl.where(seen, s, float("-inf"))
        highest = tl.maximum(top, tl.max(s, axis=1))
        # So far without any key: exp(-inf - 0) is 0.
        against = tl.where(highest == float("-inf"), 0.0, highest)
        mass = tl.exp(s - against[:, None])
        shrunk = tl.exp(top - against)
        total = total * shrunk + tl.sum(mass, axis=1)
        if DROP:
            mass *= _keep(seed, x, i[:, None], j[None, :], N, before, after, p)
        at_values, real_v = _tile(v, x, at, N, d_v, BLOCK_N, BLOCK_V)
        values = tl.load(at_values, mask=real_v, other=0.0)
        mixed = mixed * shrunk[:, None] + tl.dot(mass.to(values.dtype), values, input_precision="ieee")
        top = highest
    some = total > 0
    mixed = mixed / tl.where(some, total, 1.0)[:, None]
    at_out, real = _tile(out, x, start, N, d_v, BLOCK_N, BLOCK_V)
    tl.store(at_out, mixed.to(out.dtype.element_ty), mask=real)
    log_sum = tl.where(some, top + tl.log(tl.where(some, total, 1.0)), float("-inf"))
    tl.store(lse + x * N + i, log_sum, mask=i < N)


@triton.jit(do_not_specialize=VARYING)  # type: ignore[untyped-decorator]
def _window_backward_queries(  # type: ignore[no-untyped-def]
    q,
    k,
    v,
    g,
    lse,
    delta,
    dq,
    allowed,
    seed,
    mask_b,
    mask_f,
    mask_n,
    rows,
    phases,
    N,
    before,
    after,
    scale,
    p,
    d_k: tl.constexpr,
    d_v: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_V: tl.constexpr,
    MASKED: tl.constexpr,
    DROP: tl.constexpr,
):
    start, x = tl.program_id(0) * BLOCK_N, tl.program_id(1).to(tl.int64)
    i = start + tl.arange(0, BLOCK_N)
    at_queries, inside = _tile(q, x, start, N, d_k, BLOCK_N, BLOCK_D)
    queries = tl.load(at_queries, mask=inside, other=0.0)
    at_gradient, real_g = _tile(g, x, start, N, d_v, BLOCK_N, BLOCK_V)
    gradient = tl.load(at_gradient, mask=real_g, other=0.0)
    row = tl.load(lse + x * N + i, mask=i < N, other=0.0)
    row = tl.where(row == float("-inf"), 0.0, row)
    offset = tl.load(delta + x * N + i, mask=i < N, other=0.0)
    dq_tile = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    first = tl.maximum(start - before, 0) // BLOCK_N * BLOCK_N
    for at in range(first, tl.minimum(start + BLOCK_N + after, N), BLOCK_N):
        j = at + tl.arange(0, BLOCK_N)
        at_keys, real_k = _tile(k, x, at, N, d_k, BLOCK_N, BLOCK_D)
        keys = tl.load(at_keys, mask=real_k, other=0.0)
        at_values, real_v = _tile(v, x, at, N, d_v, BLOCK_N, BLOCK_V)
        values = tl.load(at_values, mask=real_v, other=0.0)
        seen = _visible(
            x, i[:, None], j[None, :], N, before, after, allowed, mask_b, mask_f, mask_n, rows, phases, MASKED
        )
        s = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        weights = tl.exp(tl.where(seen, s - row[:, None], float("-inf")))
        dp = tl.dot(gradient, tl.trans(values), input_precision="ieee")
        if DROP:
            dp *= _keep(seed, x, i[:, None], j[None, :], N, before, after, p)
        ds = weights * (dp - offset[:, None]) * scale
        dq_tile += tl.dot(ds.to(keys.dtype), keys, input_precision="ieee")
    at_found, _ = _tile(dq, x, start, N, d_k, BLOCK_N, BLOCK_D)
    tl.store(at_found, dq_tile.to(dq.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=VARYING)  # type: ignore[untyped-decorator]
def _window_backward_keys(  # type: ignore[no-untyped-def]
    q,
    k,
    v,
    g,
    lse,
    delta,
    dk,
    dv,
    allowed,
    seed,
    mask_b,
    mask_f,
    mask_n,
    rows,
    phases,
    N,
    before,
    after,
    scale,
    p,
    d_k: tl.constexpr,
    d_v: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_V: tl.constexpr,
    MASKED: tl.constexpr,
    DROP: tl.constexpr,
):
    start, x = tl.program_id(0) * BLOCK_N, tl.program_id(1).to(tl.int64)
    j = start + tl.arange(0, BLOCK_N)
    at_keys, inside = _tile(k, x, start, N, d_k, BLOCK_N, BLOCK_D)
    keys = tl.load(at_keys, mask=inside, other=0.0)
    at_values, inside_values = _tile(v, x, start, N, d_v, BLOCK_N, BLOCK_V)
    values = tl.load(at_values, mask=inside_values, other=0.0)
    of_keys = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    of_values = tl.zeros((BLOCK_N, BLOCK_V), tl.float32)
    # The queries whose windows reach these keys.
    first = tl.maximum(start - after, 0) // BLOCK_N * BLOCK_N
    for at in range(first, tl.minimum(start + BLOCK_N + before, N), BLOCK_N):
        i = at + tl.arange(0, BLOCK_N)
        at_queries, real_q = _tile(q, x, at, N, d_k, BLOCK_N, BLOCK_D)
        queries = tl.load(at_queries, mask=real_q, other=0.0)
        at_gradient, real_g = _tile(g, x, at, N, d_v, BLOCK_N, BLOCK_V)
        gradient = tl.load(at_gradient, mask=real_g, other=0.0)
        row = tl.load(lse + x * N + i, mask=i < N, other=0.0)
        row = tl.where(row == float("-inf"), 0.0, row)
        offset = tl.load(delta + x * N + i, mask=i < N, other=0.0)
        seen = _visible(
            x, i[:, None], j[None, :], N, before, after, allowed, mask_b, mask_f, mask_n, rows, phases, MASKED
        )
        s = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        weights = tl.exp(tl.where(seen, s - row[:, None], float("-inf")))
        dp = tl.dot(gradient, tl.trans(values), input_precision="ieee")
        dropped = weights
        if DROP:
            keep = _keep(seed, x, i[:, None], j[None, :], N, before, after, p)
            dropped = weights * keep
            dp *= keep
        of_values += tl.dot(tl.trans(dropped.to(gradient.dtype)), gradient, input_precision="ieee")
        ds = (weights * (dp - offset[:, None]) * scale).to(queries.dtype)
        of_keys += tl.dot(tl.trans(ds), queries, input_precision="ieee")
    at_found, _ = _tile(dk, x, start, N, d_k, BLOCK_N, BLOCK_D)
    tl.store(at_found, of_keys.to(dk.dtype.element_ty), mask=inside)
    at_found, _ = _tile(dv, x, start, N, d_v, BLOCK_N, BLOCK_V)
    tl.store(at_found, of_values.to(dv.dtype.element_ty), mask=inside_values)


class _TritonWindow(torch.autograd.Function):
    """Returns the output, and the log of each query's sum of exponentials, both differentiable."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, before: int, after: int, p: float
    ) -> tuple[Tensor, Tensor]:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        # Drawn on the device, so that every replay of a CUDA graph draws another.
        seed = torch.randint(2**31 - 1, (1,), device=q.device) if p else q.new_empty(0, dtype=torch.long)
        out, lse = torch.empty_like(v), q.new_empty(q.shape[:2], dtype=torch.float32)
        ctx.window = before, after, p
        grid, arguments, sizes = _arguments(q, v, allowed, seed, ctx.window)
        _window_forward[grid](q, k, v, out, lse, *arguments, **sizes)
        ctx.save_for_backward(q, k, v, out, lse, allowed, seed)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, of_lse: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse, allowed, seed = ctx.saved_tensors
        gradient = gradient.contiguous()
        # d(lse)/d(score) is the weight, so its gradient joins that of the softmax.
        delta = (gradient.float() * out).sum(-1) - of_lse
        dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        grid, arguments, sizes = _arguments(q, v, allowed, seed, ctx.window)
        _window_backward_queries[grid](q, k, v, gradient, lse, delta, dq, *arguments, **sizes)
        _window_backward_keys[grid](q, k, v, gradient, lse, delta, dk, dv, *arguments, **sizes)
        return dq, dk, dv, None, None, None, None


def suits(q: Tensor, v: Tensor) -> bool:
    """Return whether :func:`attend` accepts these: heads of at most ``MAX_HEAD_WIDTH``, and some position."""
    return max(q.shape[2], v.shape[2]) <= MAX_HEAD_WIDTH and q.numel() > 0 and v.numel() > 0


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    before: int,
    after: int,
    dropout: float = 0.0,
    allowed: Tensor | None = None,
    extra: tuple[Tensor, Tensor] | None = None,
    extra_allowed: Tensor | None = None,
) -> Tensor:
    """Attend; arguments and result as ``nn.kernels.window_attention.attend``."""
    out, lse = _TritonWindow.apply(q, k, v, allowed, before, after, dropout)  # type: ignore[no-untyped-call]
    return out if extra is None else _with_extra(q, out, lse, *extra, extra_allowed, dropout)


def _with_extra(
    q: Tensor,
    out: Tensor,
    lse: Tensor,
    extra_k: Tensor,
    extra_v: Tensor,
    extra_allowed: Tensor | None,
    dropout: float,
) -> Tensor:
    """Add extra keys: the whole window counts as one more key, with the score lse and the value out."""
    s = (q @ extra_k.mT).float() * q.shape[2] ** -0.5
    s = torch.cat([lse[..., None], s], -1)
    B, D = (1, 1) if extra_allowed is None else extra_allowed.shape[:2]
    by_text = s.view(B, -1, D, *s.shape[1:])
    nothing = by_text == -math.inf
    if extra_allowed is not None:
        masked = ~extra_allowed[:, None].expand(B, 1, D, s.shape[1], -1)
        nothing = nothing | torch.nn.functional.pad(masked, (1, 0))
    # A finite number instead of -inf: a query without any key gets 0, and finite gradients.
    weights = by_text.masked_fill(nothing, torch.finfo(s.dtype).min / 2).softmax(-1).masked_fill(nothing, 0.0)
    weights = weights.view(s.shape)
    of_window, of_extra = weights[..., :1], torch.dropout(weights[..., 1:], dropout, train=True)
    return (of_window * out + of_extra.to(out.dtype) @ extra_v).to(out.dtype)


def _arguments(
    q: Tensor, v: Tensor, allowed: Tensor | None, seed: Tensor, window: tuple[int, int, float]
) -> tuple[tuple[int, int], tuple[object, ...], dict[str, object]]:
    """The programs, the kernels' arguments after the tensors, and their sizes."""
    X, N, d_k = q.shape
    before, after, p = window
    mask: tuple[object, ...] = (q, seed, 0, 0, 0, X, 1)
    if allowed is not None:
        B, D = allowed.shape[:2]
        mask = (allowed.view(torch.uint8), seed, *allowed.stride(), X // B, D)
    sizes = {
        "d_k": d_k,
        "d_v": v.shape[2],
        "BLOCK_N": BLOCK,
        "BLOCK_D": max(16, triton.next_power_of_2(d_k)),
        "BLOCK_V": max(16, triton.next_power_of_2(v.shape[2])),
        "MASKED": allowed is not None,
        "DROP": bool(p),
        "num_warps": 4,
    }
    return (-(-N // BLOCK), X), (*mask, N, before, after, d_k**-0.5, p), sizes


def prove(device: torch.device) -> None:
    """Compare an example with the equation; see ``multihead.system.gpu``."""
    q, k, v = (torch.randn(6, 197, 24, device=device, requires_grad=True) for _ in range(3))
    allowed = torch.arange(197, device=device) < torch.tensor([[[197]], [[101]]], device=device)
    actual = attend(q, k, v, 70, 9, allowed=allowed)
    step = torch.arange(197, device=device) - torch.arange(197, device=device)[:, None]
    seen = ((step >= -70) & (step <= 9)) & allowed.repeat_interleave(3, 0)
    s = (q @ k.mT * 24**-0.5).masked_fill(~seen, torch.finfo(q.dtype).min)
    expected = s.softmax(-1).masked_fill(~seen, 0.0) @ v
    assert_close(actual, expected, atol=1e-3, rtol=1e-3)
    gradient = torch.randn_like(expected)
    grads = [torch.autograd.grad(out, [q, k, v], gradient) for out in (actual, expected)]
    assert_close(*grads, atol=1e-3, rtol=1e-3)
