"""A linear layer's training products in int8, accumulated exactly (native, CPU).

Equations: out = x W^T + b, and with g the gradient of out, dx = g W, dW = g^T x, db = 1^T g. Each row of x, g
and W (each column of W in g W) is quantised to int8, from -127 to 127, with its own scale (Jacob et al. 2018,
sec. 2.1, without zero points), as in SwitchBack (Wortsman et al. 2023). The factors of dW use stochastic
rounding, which keeps the mean (Gupta et al. 2015, sec. 3.1). Weights, their updates and sums over rows stay
in float32. A processor with int8 vector products (AVX-512 VNNI) computes 1.3 to 1.9 times as many of these
products as in bf16, and the saved x takes half the memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from multihead.system import native
from multihead.system.native_library import PANEL

# Per context instead of global: while one thread trains, another may translate.
_enabled = ContextVar("int8_training", default=False)


@contextmanager
def int8_training(enabled: bool = True) -> Iterator[None]:
    """Allow int8 products in training inside the context; by default they are off."""
    before = _enabled.set(enabled)
    try:
        yield
    finally:
        _enabled.reset(before)


def suits(dtype: torch.dtype) -> bool:
    """Return whether training in this format uses int8 products here, on a CPU."""
    return _enabled.get() and bool(native.level()) and dtype in (torch.float32, torch.bfloat16)


class ByteProducts:
    """See ``stacked_linear.Products``.

    Args:
        dtype: of inputs and outputs, bf16 or float32.
    """

    parameters = torch.float32

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def output(self, x_Nd: Tensor, w_ed: Tensor, b_e: Tensor, with_relu: bool) -> tuple[Tensor, Tensor]:
        """x W^T + b, or max(0, x W^T + b); the backward pass keeps x in int8."""
        self._seed = native.seed()
        out_Ne = x_Nd.new_empty(len(x_Nd), len(w_ed))
        return out_Ne, multiply(x_Nd, pack(w_ed), b_e, out_Ne, with_relu=with_relu)

    def input_gradient(self, g_Ne: Tensor, w_ed: Tensor) -> Tensor:
        """g W."""
        dx_Nd = g_Ne.new_empty(len(g_Ne), w_ed.shape[1])
        multiply(g_Ne, pack(w_ed.T), None, dx_Nd)
        return dx_Nd

    def parameter_gradients(self, g_Ne: Tensor, rows_Nw: Tensor, d: int) -> tuple[Tensor, Tensor]:
        """g^T x and 1^T g in float32."""
        N, e = g_Ne.shape
        out_ed, sums_e = torch.empty(e, d), torch.empty(e)
        g_Ne = _by_rows(g_Ne)
        sizes = N, e, d, self._seed
        native.call("byte_weight_gradient", g_Ne.dtype, g_Ne, g_Ne.stride(0), rows_Nw, *sizes, out_ed, sums_e)
        return out_ed, sums_e


def pack(weight_ed: Tensor) -> Tensor:
    """Quantise a float32 matrix, possibly transposed, into panels for :func:`multiply`, (P, w, 64)."""
    e, d = weight_ed.shape
    if 1 not in weight_ed.stride():
        weight_ed = weight_ed.contiguous()
    panels_PwC = torch.empty(-(-e // PANEL), -(-d // 4) + 2, PANEL, dtype=torch.int32)
    native.call("byte_weight", torch.int8, weight_ed, *weight_ed.stride(), e, d, panels_PwC)
    return panels_PwC


def multiply(
    x_Nd: Tensor,
    panels_PwC: Tensor,
    bias_e: Tensor | None,
    out_Ne: Tensor,
    *,
    with_relu: bool = False,
    bypass_cache: bool = True,
) -> Tensor:
    """Write x W^T + b, or max(0, x W^T + b), in the format of x, float32 or bf16.

    Args:
        x_Nd: the input.
        panels_PwC: W, from :func:`pack`.
        bias_e: b; None: no bias.
        out_Ne: the output, contiguous.
        with_relu: whether ReLU follows.
        bypass_cache: use non-temporal stores, which are faster for outputs larger than the caches.

    Returns:
        The rows of x in int8, four per word, and the scale of each, (N, w).
    """
    N, d = x_Nd.shape
    rows_Nw = torch.empty(N, -(-d // 4) + 1, dtype=torch.int32)
    x_Nd = _by_rows(x_Nd)
    layer = (native.tensor_address(panels_PwC), native.tensor_address(bias_e), d, out_Ne.shape[1], with_relu)
    native.call("byte_linear", x_Nd.dtype, x_Nd, x_Nd.stride(0), N, layer, rows_Nw, out_Ne, bypass_cache)
    return rows_Nw


def _by_rows(x_Nd: Tensor) -> Tensor:
    """Return x with contiguous rows; their stride is free."""
    return x_Nd if x_Nd.stride(1) == 1 else x_Nd.contiguous()
