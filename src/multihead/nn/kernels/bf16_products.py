"""A linear layer's training products in bf16, accumulated in float32 (CPU).

Equations: out = x W^T + b, and with g the gradient of out, dx = g W, dW = g^T x, db = 1^T g. oneDNN fuses the
bias into the product. With AMX, our kernel computes dW in half the time (``native/weight_gradient.h``).
"""

import torch
from torch import Tensor

from multihead.system import native


class Bf16Products:
    """See ``stacked_linear.Products``."""

    dtype = parameters = torch.bfloat16

    def output(self, x_Nd: Tensor, w_ed: Tensor, b_e: Tensor, with_relu: bool) -> tuple[Tensor, Tensor]:
        """x W^T + b, or max(0, x W^T + b); the backward pass keeps x itself."""
        out_Ne: Tensor = torch.ops.mkldnn._linear_pointwise(x_Nd, w_ed, b_e, "none", [], "")
        if with_relu:  # not fused into the product, which would turn NaN into 0
            _relu_in_place(out_Ne)
        return out_Ne, x_Nd

    def input_gradient(self, g_Ne: Tensor, w_ed: Tensor) -> Tensor:
        """g W."""
        return g_Ne @ w_ed

    def parameter_gradients(self, g_Ne: Tensor, x_Nd: Tensor, d: int) -> tuple[Tensor, Tensor]:
        """g^T x and 1^T g."""
        whole_registers = g_Ne.shape[1] % 32 == d % 32 == 0
        if native.has("weight_gradient") and whole_registers:
            return weight_gradient(g_Ne, x_Nd)
        return g_Ne.T @ x_Nd, g_Ne.sum(0)


def _relu_in_place(x: Tensor) -> None:
    if native.suits(x):
        native.call("relu", x.dtype, x, x, x.numel())
    else:
        x.relu_()


def weight_gradient(g_Ne: Tensor, x_Nd: Tensor) -> tuple[Tensor, Tensor]:
    """g^T x and 1^T g in float32, for widths that are multiples of 32 (``native/weight_gradient.h``)."""
    (N, e), d = g_Ne.shape, x_Nd.shape[1]
    g_Ne, x_Nd = (part if part.stride(1) == 1 else part.contiguous() for part in (g_Ne, x_Nd))
    out_ed, sums_e = torch.empty(e, d), torch.empty(e)
    sizes = (N, e, d)
    native.call(
        "weight_gradient", g_Ne.dtype, g_Ne, g_Ne.stride(0), x_Nd, x_Nd.stride(0), *sizes, out_ed, sums_e
    )
    return out_ed, sums_e
