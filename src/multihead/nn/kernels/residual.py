"""LayerNorm(x + Dropout(y)), the sum x + Dropout(y), and the norm alone, each in one pass (native, CPU).

Equations: Vaswani et al. 2017, sec. 5.4; Ba et al. 2016, eq. 4. No dropout mask is stored: the backward pass
recomputes it from its seed.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from multihead.nn.kernels.byte_dropout import dropped_of_256
from multihead.system import native
from multihead.system.gpu import kernel

MAX_WIDTH = 8192
"""Widest row that the GPU's kernel accepts."""


class _ResidualNorm(torch.autograd.Function):
    """LayerNorm(x + Dropout(y)); y None: LayerNorm(x)."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, y: Tensor | None, gamma: Tensor, beta: Tensor, epsilon: float, dropped: int
    ) -> Tensor:
        x = x.contiguous()
        d = x.shape[-1]
        rows = x.numel() // d
        seed = native.seed() if dropped else 0
        z = x if y is None else torch.empty_like(x)
        out, (mean, rstd) = torch.empty_like(x), torch.empty(2, rows, dtype=torch.float32)
        y = None if y is None else y.contiguous()
        written = None if y is None else z
        described = native.tensor_address(gamma), native.tensor_address(beta), native.bits(epsilon)
        native.call("residual", x.dtype, x, y, described, written, out, mean, rstd, rows, d, seed, dropped)
        ctx.save_for_backward(z, gamma, mean, rstd)
        ctx.added, ctx.seed, ctx.dropped = y is not None, seed, dropped
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        z, gamma, mean, rstd = ctx.saved_tensors
        d = z.shape[-1]
        dx, (dgamma, dbeta) = torch.empty_like(z), torch.empty(2, d, dtype=torch.float32)
        dy = torch.empty_like(z) if ctx.dropped else None
        native.call(
            "residual_backward",
            z.dtype,
            gradient.contiguous(),
            z,
            gamma,
            mean,
            rstd,
            dx,
            dy,
            dgamma,
            dbeta,
            len(mean),
            d,
            ctx.seed,
            ctx.dropped,
        )
        added = (dx if dy is None else dy) if ctx.added else None
        return dx, added, dgamma, dbeta, None, None


class _ResidualSum(torch.autograd.Function):
    """x + Dropout(y)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, dropped: int) -> Tensor:
        x, y = x.contiguous(), y.contiguous()
        z, d = torch.empty_like(x), x.shape[-1]
        ctx.seed, ctx.dropped = native.seed(), dropped
        rows = x.numel() // d
        no_norm = (None, None, None)
        native.call("residual", x.dtype, x, y, None, z, *no_norm, rows, d, ctx.seed, ctx.dropped)
        return z

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        gradient = gradient.contiguous()
        dy, d = torch.empty_like(gradient), gradient.shape[-1]
        rows = gradient.numel() // d
        native.call("dropout", gradient.dtype, gradient, dy, rows, d, ctx.seed, ctx.dropped)
        return gradient, dy, None


# A residual connection and its sublayer read the same x, so d loss / d x is a sum of two gradients.
# Autograd's own bf16 addition takes 1.8 times as long.
class _FanOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        return x.view_as(x), x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, first: Tensor | None, second: Tensor | None) -> Tensor | None:
        if first is None or second is None:
            return second if first is None else first
        first, second = first.contiguous(), second.contiguous()
        out, columns = torch.empty_like(first), first.shape[-1]
        rows = out.numel() // columns
        no_norm = (None, None, None)
        native.call("residual", out.dtype, first, second, None, out, *no_norm, rows, columns, 0, 0)
        return out


def fan_out(x: Tensor) -> tuple[Tensor, Tensor]:
    """Fan x out to two consumers; sum their gradients in one pass (bf16 on a CPU)."""
    if not (x.requires_grad and x.dtype == torch.bfloat16 and x.numel() and native.suits(x)):
        return x, x
    first, second = _FanOut.apply(x)  # type: ignore[no-untyped-call]
    return first, second


def layer_norm(x: Tensor, norm: nn.LayerNorm) -> Tensor | None:
    """LayerNorm(x) over the last axis; None: no kernel accepts the inputs."""
    if _suits(norm, x):
        return _native(x, None, norm, 0.0)
    if (triton := _on_gpu(norm, x)) is not None:
        out: Tensor = triton.residual_norm(x, None, norm, 0.0)
        return out
    if x.is_cuda and x.dtype != norm.weight.dtype:
        # Autocast would return float32 and double the residual stream's memory. The kernel computes in
        # float32 internally anyway.
        with torch.autocast("cuda", enabled=False):
            gamma, beta = norm.weight.to(x.dtype), norm.bias.to(x.dtype)
            return F.layer_norm(x, norm.normalized_shape, gamma, beta, norm.eps)
    return None


def residual_norm(x: Tensor, y: Tensor, norm: nn.Module, dropout: float) -> Tensor | None:
    """norm(x + Dropout(y)) over the last axis, x and y of one shape; None: no kernel accepts the inputs."""
    if not isinstance(norm, nn.LayerNorm):
        return None
    if _suits(norm, x, y):
        return _native(x, y, norm, dropout)
    if (triton := _on_gpu(norm, x, y)) is not None:
        out: Tensor = triton.residual_norm(x, y, norm, dropout)
        return out
    return None


def residual_sum(x: Tensor, y: Tensor, dropout: float) -> Tensor | None:
    """x + Dropout(y), x and y of one shape; None: no dropout, or no kernel accepts the inputs."""
    out: Tensor
    if not dropout or x.shape != y.shape or not x.numel():
        return None
    if (triton := kernel("nn.kernels.triton_residual_norm", x, y)) is not None:
        out = triton.residual_sum(x, y, dropout)
        return out
    if not native.suits(x, y):
        return None
    out = _ResidualSum.apply(x, y, dropped_of_256(dropout))  # type: ignore[no-untyped-call]
    return out


def _on_gpu(norm: nn.LayerNorm, *tensors: Tensor) -> Any:
    """The GPU's kernels, if they accept these inputs."""
    x = tensors[0]
    whole = norm.weight is not None and norm.bias is not None and norm.normalized_shape == x.shape[-1:]
    alike = x.numel() > 0 and x.shape[-1] <= MAX_WIDTH and all(y.shape == x.shape for y in tensors)
    return kernel("nn.kernels.triton_residual_norm", *tensors) if whole and alike else None


def _suits(norm: nn.LayerNorm, *tensors: Tensor) -> bool:
    x = tensors[0]
    return (
        native.suits(*tensors)
        and norm.weight is not None
        and norm.bias is not None
        and norm.weight.dtype == norm.bias.dtype == torch.float32
        and norm.normalized_shape == x.shape[-1:]
        and x.numel() > 0
        and all(y.shape == x.shape for y in tensors)
    )


def _native(x: Tensor, y: Tensor | None, norm: nn.LayerNorm, dropout: float) -> Tensor:
    dropped = dropped_of_256(dropout)
    out: Tensor = _ResidualNorm.apply(x, y, norm.weight, norm.bias, norm.eps, dropped)  # type: ignore[no-untyped-call]
    return out
