"""LayerNorm(x + Dropout(y)), the sum x + Dropout(y), and the norm alone, each in one kernel (GPU, Triton).

Equations: Vaswani et al. 2017, sec. 5.4; Ba et al. 2016, eq. 4. No dropout mask is stored: the backward pass
recomputes it from its seed (Philox with the element's index as counter, 7 rounds; Salmon et al. 2011). The
gradients of gamma and beta are summed in each program, then over programs, in a fixed order.
Imported only if Triton is available.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.testing import assert_close

PROGRAMS = 264
"""Programs of the backward pass, which loop over all rows: two per multiprocessor of a large GPU."""
ELEMENTS = 2048
"""Elements of a tile."""
VARYING = ("rows", "count", "p", "epsilon")
"""Arguments whose values do not specialise the kernel."""


@triton.jit(do_not_specialize=VARYING)  # type: ignore[untyped-decorator]
def _residual_forward(  # type: ignore[no-untyped-def]
    x,
    y,
    gamma,
    beta,
    z,
    out,
    mean,
    rstd,
    seed,
    rows,
    epsilon,
    p,
    d: tl.constexpr,
    ADD: tl.constexpr,
    DROP: tl.constexpr,
    NORM: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    inside = (r[:, None] < rows) & (c[None, :] < d)
    at = r[:, None].to(tl.int64) * d + c[None, :]
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        added = tl.load(y + at, mask=inside, other=0.0).to(tl.float32)
        if DROP:
            keep = tl.rand(tl.load(seed), at.to(tl.uint32), n_rounds=7) >= p
            added = tl.where(keep, added / (1 - p), 0.0)
        value += added
        tl.store(z + at, value.to(z.dtype.element_ty), mask=inside)
    if NORM:
        row_mean = tl.sum(value, axis=1) / d
        centred = tl.where(inside, value - row_mean[:, None], 0.0)
        scale = tl.rsqrt(tl.sum(centred * centred, axis=1) / d + epsilon)
        g = tl.load(gamma + c, mask=c < d, other=0.0).to(tl.float32)
        b = tl.load(beta + c, mask=c < d, other=0.0).to(tl.float32)
        normed = centred * scale[:, None] * g[None, :] + b[None, :]
        tl.store(out + at, normed.to(out.dtype.element_ty), mask=inside)
        tl.store(mean + r, row_mean, mask=r < rows)
        tl.store(rstd + r, scale, mask=r < rows)


@triton.jit(do_not_specialize=VARYING)  # type: ignore[untyped-decorator]
def _residual_backward(  # type: ignore[no-untyped-def]
    gradient,
    z,
    gamma,
    mean,
    rstd,
    dx,
    dy,
    dgamma,
    dbeta,
    seed,
    rows,
    p,
    d: tl.constexpr,
    DROP: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    c = tl.arange(0, BLOCK)
    gain = tl.load(gamma + c, mask=c < d, other=0.0).to(tl.float32)
    gamma_sum = tl.zeros((BLOCK,), tl.float32)
    beta_sum = tl.zeros((BLOCK,), tl.float32)
    first = tl.program_id(0) * ROWS
    while first < rows:
        r = first + tl.arange(0, ROWS)
        inside = (r[:, None] < rows) & (c[None, :] < d)
        at = r[:, None].to(tl.int64) * d + c[None, :]
        g = tl.load(gradient + at, mask=inside, other=0.0).to(tl.float32)
        value = tl.load(z + at, mask=inside, other=0.0).to(tl.float32)
        row_mean = tl.load(mean + r, mask=r < rows, other=0.0)
        scale = tl.load(rstd + r, mask=r < rows, other=0.0)
        normed = tl.where(inside, (value - row_mean[:, None]) * scale[:, None], 0.0)
        scaled = g * gain[None, :]
        projection = tl.sum(scaled * normed, axis=1) / d
        offset = tl.sum(scaled, axis=1) / d
        dz = (scaled - normed * projection[:, None] - offset[:, None]) * scale[:, None]
        tl.store(dx + at, dz.to(dx.dtype.element_ty), mask=inside)
        if DROP:
            keep = tl.rand(tl.load(seed), at.to(tl.uint32), n_rounds=7) >= p
            dropped = tl.where(keep, dz / (1 - p), 0.0)
            tl.store(dy + at, dropped.to(dy.dtype.element_ty), mask=inside)
        gamma_sum += tl.sum(g * normed, axis=0)
        beta_sum += tl.sum(g, axis=0)
        first += tl.num_programs(0) * ROWS
    column = tl.program_id(0) * d + c
    tl.store(dgamma + column, gamma_sum, mask=c < d)
    tl.store(dbeta + column, beta_sum, mask=c < d)


@triton.jit(do_not_specialize=VARYING)  # type: ignore[untyped-decorator]
def _dropout_backward(  # type: ignore[no-untyped-def]
    gradient, out, seed, count, p, BLOCK: tl.constexpr
):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(tl.load(seed), at.to(tl.uint32), n_rounds=7) >= p
    g = tl.load(gradient + at, mask=at < count, other=0.0).to(tl.float32)
    tl.store(out + at, tl.where(keep, g / (1 - p), 0.0).to(out.dtype.element_ty), mask=at < count)


class _TritonResidualNorm(torch.autograd.Function):
    """LayerNorm(x + Dropout(y)); y None: LayerNorm(x)."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, y: Tensor | None, gamma: Tensor, beta: Tensor, epsilon: float, p: float
    ) -> Tensor:
        x, seed = x.contiguous(), _seed(x, p)
        z = x if y is None else torch.empty_like(x)
        out = torch.empty_like(x)
        rows, d = x.numel() // x.shape[-1], x.shape[-1]
        mean, rstd = torch.empty(2, rows, dtype=torch.float32, device=x.device)
        y = None if y is None else y.contiguous()
        _launch_forward(x, y, gamma, beta, z, out, mean, rstd, seed, epsilon, p)
        ctx.save_for_backward(z, gamma, beta, mean, rstd, seed)
        ctx.added, ctx.p, ctx.d = y is not None, p, d
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        z, gamma, beta, mean, rstd, seed = ctx.saved_tensors
        d, gradient = ctx.d, gradient.contiguous()
        block, rows_per_tile, warps = _tile(d)
        programs = min(PROGRAMS, -(-len(mean) // rows_per_tile))
        dx = torch.empty_like(z)
        dy = torch.empty_like(z) if ctx.p else dx
        parts = torch.empty(2, programs, d, dtype=torch.float32, device=z.device)
        _residual_backward[(programs,)](
            gradient,
            z,
            gamma,
            mean,
            rstd,
            dx,
            dy,
            parts[0],
            parts[1],
            seed,
            len(mean),
            ctx.p,
            d=d,
            DROP=bool(ctx.p),
            ROWS=rows_per_tile,
            BLOCK=block,
            num_warps=warps,
        )
        dgamma, dbeta = parts.sum(1)
        return dx, dy if ctx.added else None, dgamma.to(gamma.dtype), dbeta.to(beta.dtype), None, None


class _TritonResidualSum(torch.autograd.Function):
    """x + Dropout(y)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, p: float) -> Tensor:
        x, y, seed = x.contiguous(), y.contiguous(), _seed(x, p)
        z = torch.empty_like(x)
        _launch_forward(x, y, None, None, z, None, None, None, seed, 0.0, p)
        ctx.save_for_backward(seed)
        ctx.p = p
        return z

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        (seed,) = ctx.saved_tensors
        gradient = gradient.contiguous()
        dy = torch.empty_like(gradient)
        count = gradient.numel()
        _dropout_backward[(-(-count // ELEMENTS),)](
            gradient, dy, seed, count, ctx.p, BLOCK=ELEMENTS, num_warps=8
        )
        return gradient, dy, None


def residual_norm(x: Tensor, y: Tensor | None, norm: nn.LayerNorm, p: float) -> Tensor:
    """LayerNorm(x + Dropout(y)), x and y of one shape and format; y None: LayerNorm(x)."""
    out: Tensor = _TritonResidualNorm.apply(x, y, norm.weight, norm.bias, norm.eps, p)  # type: ignore[no-untyped-call]
    return out


def residual_sum(x: Tensor, y: Tensor, p: float) -> Tensor:
    """x + Dropout(y), x and y of one shape and format, p above 0."""
    out: Tensor = _TritonResidualSum.apply(x, y, p)  # type: ignore[no-untyped-call]
    return out


def _seed(x: Tensor, p: float) -> Tensor:
    # Drawn on the device, so that every replay of a CUDA graph draws another.
    return torch.randint(2**31 - 1, (1,), device=x.device) if p else x.new_empty(0, dtype=torch.long)


def _tile(d: int) -> tuple[int, int, int]:
    """Columns and rows of a tile, and its number of warps."""
    block = triton.next_power_of_2(d)
    return block, max(1, ELEMENTS // block), 8 if block >= 2048 else 4


def _launch_forward(
    x: Tensor,
    y: Tensor | None,
    gamma: Tensor | None,
    beta: Tensor | None,
    z: Tensor,
    out: Tensor | None,
    mean: Tensor | None,
    rstd: Tensor | None,
    seed: Tensor,
    epsilon: float,
    p: float,
) -> None:
    d = x.shape[-1]
    rows = x.numel() // d
    block, rows_per_tile, warps = _tile(d)
    # The kernel needs a pointer for every tensor, and never reads those of missing ones.
    _residual_forward[(-(-rows // rows_per_tile),)](
        x,
        x if y is None else y,
        x if gamma is None else gamma,
        x if beta is None else beta,
        z,
        z if out is None else out,
        z if mean is None else mean,
        z if rstd is None else rstd,
        seed,
        rows,
        epsilon,
        p,
        d=d,
        ADD=y is not None,
        DROP=bool(p) and y is not None,
        NORM=out is not None,
        ROWS=rows_per_tile,
        BLOCK=block,
        num_warps=warps,
    )


def prove(device: torch.device) -> None:
    """Compare an example with the equation; see ``multihead.system.gpu``."""
    norm = nn.LayerNorm(48, device=device)
    x, y, gradient = (torch.randn(7, 48, device=device) for _ in range(3))
    every = [x.requires_grad_(), y.requires_grad_(), norm.weight, norm.bias]
    actual, expected = residual_norm(x, y, norm, 0.0), norm(x + y)
    assert_close(actual, expected, atol=1e-3, rtol=1e-3)
    grads = [torch.autograd.grad(out, every, gradient) for out in (actual, expected)]
    assert_close(*grads, atol=1e-3, rtol=1e-3)
    total = residual_sum(x, y, 0.5)
    (mask,) = torch.autograd.grad(total, [y], torch.ones_like(y))
    assert_close(total, x + y * mask, atol=1e-3, rtol=1e-3)
