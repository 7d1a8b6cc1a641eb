"""The three products of a linear layer in training, of bytes, summed exactly (native, CPU).

Equations: out = x W^T + b, and with g the gradient at out, dx = g W, dW = g^T x, db = 1^T g. A row of x, of g
and of W (a column of W where g is multiplied) becomes whole numbers from -127 to 127 times a scale of its own
(Jacob et al. 2018, sec. 2.1, without zero points), as in SwitchBack (Wortsman et al. 2023). So does what dW
is summed from, rounded at random so that its mean stays what it was (Gupta et al. 2015, sec. 3.1). Weights,
their updates and sums over rows stay in float32. A processor whose vectors multiply bytes (AVX-512 with VNNI)
makes 1.3 to 1.9 times as many of these products as in bf16, and what is kept of x takes half the memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from multihead import native

PANEL = 64
"""Outputs side by side in a packed matrix (``native/products.h``)."""

# Not of the whole process: while one thread trains another may translate.
_wanted = ContextVar("in_bytes", default=False)


@contextmanager
def in_bytes(wanted: bool = True) -> Iterator[None]:
    """Inside, products of training may be of bytes; outside, as where it is not wanted, they never are."""
    before = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(before)


def suit(dtype: torch.dtype) -> bool:
    """Tell whether products of training in these are to be of bytes here, on a CPU."""
    return _wanted.get() and bool(native.level()) and dtype in (torch.float32, torch.bfloat16)


class ByteProducts:
    """See ``stacked_linear.Products``.

    Args:
        dtype: of what goes in and comes out, bf16 or float32.
    """

    parameters = torch.float32

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def output(self, x_Nd: Tensor, w_ed: Tensor, b_e: Tensor, with_relu: bool) -> tuple[Tensor, Tensor]:
        """x W^T + b, or max(0, x W^T + b); of x its bytes are kept."""
        self._seed = native.seed()
        out_Ne = x_Nd.new_empty(len(x_Nd), len(w_ed))
        return out_Ne, multiply(x_Nd, packed(w_ed), b_e, out_Ne, with_relu=with_relu)

    def of_input(self, g_Ne: Tensor, w_ed: Tensor) -> Tensor:
        """g W."""
        dx_Nd = g_Ne.new_empty(len(g_Ne), w_ed.shape[1])
        multiply(g_Ne, packed(w_ed.T), None, dx_Nd)
        return dx_Nd

    def of_parameters(self, g_Ne: Tensor, rows_Nw: Tensor, d: int) -> tuple[Tensor, Tensor]:
        """g^T x and 1^T g in float32."""
        N, e = g_Ne.shape
        out_ed, sums_e = torch.empty(e, d), torch.empty(e)
        g_Ne = _by_rows(g_Ne)
        sizes = N, e, d, self._seed
        native.call("byte_weight_gradient", g_Ne.dtype, g_Ne, g_Ne.stride(0), rows_Nw, *sizes, out_ed, sums_e)
        return out_ed, sums_e


def packed(weight_ed: Tensor) -> Tensor:
    """A matrix in float32, also turned round, in the panels that :func:`multiply` reads, (P, w, 64)."""
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
    past_caches: bool = True,
) -> Tensor:
    """Write x W^T + b, or max(0, x W^T + b), in the format of x, float32 or bf16.

    Args:
        x_Nd: what is multiplied.
        panels_PwC: W, from :func:`packed`.
        bias_e: b; None: nothing.
        out_Ne: where it is written, contiguous.
        with_relu: whether ReLU follows.
        past_caches: whether it is written to memory at once, which is faster where there is more of it than
            the caches hold.

    Returns:
        The rows of x as bytes, four a word, and the scale of each, (N, w).
    """
    N, d = x_Nd.shape
    rows_Nw = torch.empty(N, -(-d // 4) + 1, dtype=torch.int32)
    x_Nd = _by_rows(x_Nd)
    layer = (native.address(panels_PwC), native.address(bias_e), d, out_Ne.shape[1], with_relu)
    native.call("byte_linear", x_Nd.dtype, x_Nd, x_Nd.stride(0), N, layer, rows_Nw, out_Ne, past_caches)
    return rows_Nw


def _by_rows(x_Nd: Tensor) -> Tensor:
    """The same with the numbers of a row side by side; rows may lie apart."""
    return x_Nd if x_Nd.stride(1) == 1 else x_Nd.contiguous()
