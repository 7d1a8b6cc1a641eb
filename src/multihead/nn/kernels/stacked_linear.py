"""x W^T + b of one layer or of several that read the same x, as one product each way (CPU).

Equations: out = x W^T + b, and with g the gradient at out, dx = g W, dW = g^T x, db = 1^T g. PyTorch copies
the bias to where a product is to be added to it, applies ReLU in another pass, and adds up what several
layers send back to x in more passes, each of which takes about as long as a product of a small model. Here
bias and ReLU come with the product, and layers of one input have one matrix: a small model's update is 1.02
to 1.07 times as fast with AMX. The products themselves are of bf16, or where it is asked for of bytes.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead.nn.kernels import byte_products
from multihead.nn.kernels.bf16_products import Bf16Products
from multihead.nn.kernels.byte_products import ByteProducts
from multihead.nn.kernels.relu import before_relu

Layer = tuple[Tensor, Tensor | None]
"""A weight (e, d) and a bias (e,)."""


class Products(Protocol):
    """How a linear layer and its gradients are multiplied.

    Attributes:
        dtype: of x, out and their gradients.
        parameters: the format in which weights and biases are given.
    """

    dtype: torch.dtype
    parameters: torch.dtype

    def output(self, x_Nd: Tensor, w_ed: Tensor, b_e: Tensor, with_relu: bool) -> tuple[Tensor, Tensor]:
        """x W^T + b, or max(0, x W^T + b); and what is to be kept of x."""
        ...

    def of_input(self, g_Ne: Tensor, w_ed: Tensor) -> Tensor:
        """g W."""
        ...

    def of_parameters(self, g_Ne: Tensor, kept: Tensor, d: int) -> tuple[Tensor, Tensor]:
        """g^T x and 1^T g, of what was kept of x, d wide."""
        ...


class _StackedLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, products: Products, with_relu: bool, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        weights, biases = parameters[::2], parameters[1::2]
        ctx.products, ctx.widths = products, [len(bias) for bias in biases]
        ctx.formats = x.dtype, weights[0].dtype
        w_ed, b_e = (_stacked(parts, products.parameters) for parts in (weights, biases))
        out_Ne, kept = products.output(x.to(products.dtype).flatten(0, -2), w_ed, b_e, with_relu)
        ctx.save_for_backward(kept, w_ed, out_Ne if with_relu else None)
        return out_Ne.view(*x.shape[:-1], -1).split_with_sizes(ctx.widths, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        kept, w_ed, out_Ne = ctx.saved_tensors
        x_dtype, weight_dtype = ctx.formats
        g_Ne = beside(gradients).flatten(0, -2)
        if out_Ne is not None:
            g_Ne = before_relu(g_Ne, out_Ne)
        dx, parameters = None, (None,) * 2 * len(ctx.widths)
        if ctx.needs_input_grad[0]:
            dx_Nd = ctx.products.of_input(g_Ne, w_ed)
            dx = dx_Nd.view(*gradients[0].shape[:-1], -1).to(x_dtype)
        if any(ctx.needs_input_grad[3:]):
            found = (
                part.to(weight_dtype).split_with_sizes(ctx.widths)
                for part in ctx.products.of_parameters(g_Ne, kept, w_ed.shape[1])
            )
            parameters = tuple(part for layer in zip(*found, strict=True) for part in layer)
        return dx, None, None, *parameters


def _stacked(parts: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """The parts in one format, one below the other."""
    if len(parts) == 1:
        return parts[0].to(dtype).contiguous()
    heights = [len(part) for part in parts]
    whole = parts[0].new_empty(sum(heights), *parts[0].shape[1:], dtype=dtype)
    for place, part in zip(whole.split_with_sizes(heights), parts, strict=True):
        place.copy_(part)
    return whole


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


def products_for(x: Tensor, layers: Sequence[Layer]) -> Products | None:
    """How :func:`stacked_linear` multiplies these in training, in bf16 or in bytes; None: PyTorch does."""
    parameters = [part for layer in layers for part in layer if part is not None]
    if (
        len(parameters) < 2 * len(layers)
        or not torch.is_grad_enabled()
        or torch.compiler.is_compiling()
        or any(part.device.type != "cpu" for part in (x, *parameters))
        or any(part.dtype != parameters[0].dtype for part in parameters)
        or x.dim() < 2
        or not min(x.numel(), *(part.numel() for part in parameters))
    ):
        return None
    dtype = _dtype(x, parameters[0])
    if dtype is not None and byte_products.suit(dtype):
        return ByteProducts(dtype)
    return Bf16Products() if dtype == torch.bfloat16 and _multiplies_bf16() else None


@cache
def _multiplies_bf16() -> bool:
    """Whether oneDNN multiplies bf16 on this processor; PyTorch's own products do on any."""
    known = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return known and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _dtype(x: Tensor, weight: Tensor) -> torch.dtype | None:
    """The format of the product; None: not one that is known here."""
    if torch.is_autocast_enabled("cpu"):
        # Others autocast leaves as they are.
        return torch.get_autocast_dtype("cpu") if x.dtype in (torch.float32, torch.bfloat16) else None
    return x.dtype if x.dtype == weight.dtype else None


def stacked_linear(
    x: Tensor, layers: Sequence[Layer], products: Products, *, with_relu: bool = False
) -> tuple[Tensor, ...]:
    """Every layer's x W^T + b, or max(0, x W^T + b), multiplied as said; (..., d) to (..., e) each."""
    parameters = [part for layer in layers for part in layer]
    out: tuple[Tensor, ...] = _StackedLinear.apply(x, products, with_relu, *parameters)  # type: ignore[no-untyped-call]
    return out
