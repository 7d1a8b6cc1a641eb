"""x W^T + b of one layer or of several that read the same x, as one product each way (CPU, bf16).

Equations: out = x W^T + b, and with g the gradient at out, dx = g W, dW = g^T x, db = 1^T g. PyTorch copies
the bias to where a product is to be added to it, applies ReLU in another pass, and adds up what several
layers send back to x in more passes, each of which takes about as long as a product of a small model. Here
the bias is part of the product (oneDNN's), ReLU works in place, and layers of one input have one matrix:
a small model's update is 1.02 to 1.07 times as fast with AMX, where dW comes from a kernel of our own in half
of the time (``native/weight_gradient.h``).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead import native
from multihead.nn.kernels.relu import before_relu

Layer = tuple[Tensor, Tensor]
"""A weight (e, d) and a bias (e)."""


class _StackedLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, with_relu: bool, *parameters: Tensor) -> tuple[Tensor, ...]:
        weights, biases = parameters[::2], parameters[1::2]
        ctx.widths, ctx.formats = [len(bias) for bias in biases], (x.dtype, weights[0].dtype)
        x_Nd = x.to(torch.bfloat16).flatten(0, -2)
        w_ed, b_e = _stacked(weights), _stacked(biases)
        out_Ne: Tensor = torch.ops.mkldnn._linear_pointwise(x_Nd, w_ed, b_e, "none", [], "")
        if with_relu:  # not within the product, which would make 0 of NaN
            _relu_in_place(out_Ne)
        ctx.save_for_backward(x_Nd, w_ed, out_Ne if with_relu else None)
        return out_Ne.view(*x.shape[:-1], -1).split_with_sizes(ctx.widths, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x_Nd, w_ed, out_Ne = ctx.saved_tensors
        x_dtype, weight_dtype = ctx.formats
        g_Ne = beside(gradients).flatten(0, -2)
        if out_Ne is not None:
            g_Ne = before_relu(g_Ne, out_Ne)
        dx, parameters = None, (None,) * 2 * len(ctx.widths)
        if ctx.needs_input_grad[0]:
            dx = (g_Ne @ w_ed).view(*gradients[0].shape[:-1], -1).to(x_dtype)
        if any(ctx.needs_input_grad[2:]):
            found = (
                part.to(weight_dtype).split_with_sizes(ctx.widths) for part in _of_parameters(g_Ne, x_Nd)
            )
            parameters = tuple(part for layer in zip(*found, strict=True) for part in layer)
        return dx, None, *parameters


def _relu_in_place(x: Tensor) -> None:
    if native.suits(x):
        native.call("relu", x.dtype, x, x, x.numel())
    else:
        x.relu_()


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    """The parts in bf16 one below the other."""
    if len(parts) == 1:
        return parts[0].to(torch.bfloat16)
    heights = [len(part) for part in parts]
    whole = parts[0].new_empty(sum(heights), *parts[0].shape[1:], dtype=torch.bfloat16)
    for place, part in zip(whole.split_with_sizes(heights), parts, strict=True):
        place.copy_(part)
    return whole


def _of_parameters(g_Ne: Tensor, x_Nd: Tensor) -> tuple[Tensor, Tensor]:
    """g^T x and 1^T g."""
    whole_registers = g_Ne.shape[1] % 32 == x_Nd.shape[1] % 32 == 0
    if native.has("weight_gradient") and whole_registers:
        return weight_gradient(g_Ne, x_Nd)
    return g_Ne.T @ x_Nd, g_Ne.sum(0)


def weight_gradient(g_Ne: Tensor, x_Nd: Tensor) -> tuple[Tensor, Tensor]:
    """g^T x and 1^T g in float32, for widths that are multiples of 32: native/weight_gradient.h."""
    (N, e), d = g_Ne.shape, x_Nd.shape[1]
    g_Ne, x_Nd = (part if part.stride(1) == 1 else part.contiguous() for part in (g_Ne, x_Nd))
    out_ed, sums_e = torch.empty(e, d), torch.empty(e)
    sizes = (N, e, d)
    native.call(
        "weight_gradient", g_Ne.dtype, g_Ne, g_Ne.stride(0), x_Nd, x_Nd.stride(0), *sizes, out_ed, sums_e
    )
    return out_ed, sums_e


def beside(parts: Sequence[Tensor]) -> Tensor:
    """The parts side by side along the last axis; a view where they lie in memory like that."""
    if not side_by_side(parts):
        return torch.cat(tuple(parts), -1)
    width = sum(part.shape[-1] for part in parts)
    return parts[0].as_strided((*parts[0].shape[:-1], width), parts[0].stride())


def side_by_side(parts: Sequence[Tensor]) -> bool:
    """Tell whether the parts lie in memory one behind the other along the last axis."""
    first = parts[0]
    place = first.storage_offset()
    for part in parts:
        if (
            part.untyped_storage().data_ptr() != first.untyped_storage().data_ptr()
            or part.storage_offset() != place
            or part.stride() != first.stride()
            or part.shape[:-1] != first.shape[:-1]
        ):
            return False
        place += part.shape[-1]
    return first.stride(-1) == 1


def suits(x: Tensor, layers: Sequence[Layer]) -> bool:
    """Tell whether :func:`stacked_linear` can take these, and is faster: in training in bf16."""
    parameters = [part for layer in layers for part in layer]
    return (
        torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and all(part.device.type == "cpu" for part in (x, *parameters))
        and all(part.dtype == parameters[0].dtype for part in parameters)
        and x.dim() > 1
        and min(x.numel(), *(part.numel() for part in parameters)) > 0
        and _bf16(x, parameters[0])
        and _multiplies_bf16()
    )


@cache
def _multiplies_bf16() -> bool:
    """Whether oneDNN multiplies bf16 on this processor; PyTorch's own products do on any."""
    known = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return known and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _bf16(x: Tensor, weight: Tensor) -> bool:
    """Whether the product is one of bf16."""
    if torch.is_autocast_enabled("cpu"):
        known = x.dtype in (torch.float32, torch.bfloat16)  # others autocast leaves as they are
        return known and torch.get_autocast_dtype("cpu") == torch.bfloat16
    return x.dtype == weight.dtype == torch.bfloat16


def stacked_linear(x: Tensor, layers: Sequence[Layer], *, with_relu: bool = False) -> tuple[Tensor, ...]:
    """Every layer's x W^T + b, or max(0, x W^T + b); (..., d) to (..., e) each."""
    parameters = [part for layer in layers for part in layer]
    out: tuple[Tensor, ...] = _StackedLinear.apply(x, with_relu, *parameters)  # type: ignore[no-untyped-call]
    return out
