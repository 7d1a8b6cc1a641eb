"""Output layer and smoothed cross-entropy in one, straight to the gradient, a block of rows at a time.

Equation, with p = softmax(h W^T) and q = (1 - s) one_hot(y) + s / V (Szegedy et al. 2016, sec. 7):
loss = -sum q log p, d loss / d logits = p - q. The logits of a block have a buffer that every block uses
again, and autograd's three passes over (N, V) numbers in float32 are never made: 1.6 times as fast as
``F.cross_entropy`` on the output of ``F.linear`` at N = 4096, V = 8000, d = 256 in bf16 on two cores with
AMX, by the native kernel 2.8 times, in a third of the memory.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead import native
from multihead.gpu import kernel
from multihead.nn.kernels import byte_products, sampled_gradient
from multihead.nn.kernels.disagreement import disagreement

BLOCK_ELEMENTS = 1 << 23
"""Logits a block, in a buffer of 16 or 32 MiB that every block uses again: fresh memory is slow memory."""

SOME_ELEMENTS = 1 << 21
"""Of those so many at a time in float32, another 8 MiB, where no kernel goes through them row by row."""

GPU_BLOCK_ELEMENTS = 1 << 28
"""On a GPU: half a GiB in bf16."""

NOTHING = -1
"""In the place of a target: nothing is to be said there. Such rows are left out before the product, but not
on a GPU, where Python would have to wait until their number is known (two guesses that shall agree do)."""

MOST_ROWS = 1024
"""Rows a block on a CPU: oneDNN lays out more of them in another way, at 0.6 of the speed (AMX)."""

BYTE_ROWS = 256
"""The same where products are of bytes: so many logits are still in the cache when they are read again, and
no product gains by more. A small model's update is 1.05 times as fast as with 1,024."""

EVEN_ROWS = 64
"""Many rows are filled up to a multiple of so many: matrix libraries compile code for every shape."""


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden_Nd: Tensor,
        weight_Vd: Tensor,
        targets_N: Tensor,
        smoothing: float,
        agreement: float,
        recorded: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        dtype = _product_dtype(hidden_Nd)
        exact = torch.promote_types(dtype, torch.float32)
        h_Nd, w_Vd = hidden_Nd.detach().to(dtype), weight_Vd.detach().to(dtype)
        ctx.asked = _asked(targets_N) if agreement or hidden_Nd.device.type == "cpu" else None
        if ctx.asked is not None:
            h_Nd, targets_N = h_Nd.index_select(0, ctx.asked), targets_N.index_select(0, ctx.asked)
        N, V = h_Nd.shape[0], w_Vd.shape[0]
        if h_Nd.device.type == "cpu":
            targets_N = native.ids(targets_N, V)
        h_Nd = F.pad(h_Nd, (0, 0, 0, -N % EVEN_ROWS if N >= 16 * EVEN_ROWS else 0))
        wanted = recorded and any(ctx.needs_input_grad[:2])
        hidden_gradient, weight_gradient = torch.empty_like(h_Nd), h_Nd.new_zeros(w_Vd.shape, dtype=exact)
        sums = h_Nd.new_zeros(3, dtype=exact)

        in_bytes = recorded and h_Nd.device.type == "cpu" and byte_products.suit(dtype)
        panels = byte_products.packed(weight_Vd.detach().float()) if in_bytes else None
        rows, few = _rows_at_once(h_Nd, V, in_bytes)
        product_nV, buffer_nV = h_Nd.new_empty(rows, V), h_Nd.new_empty(few, V, dtype=exact)
        by_sampling = wanted and not agreement and sampled_gradient.suits(product_nV)
        apart, apart_nV = sums.new_zeros(()), product_nV.new_empty(rows if wanted and agreement else 0, V)
        for start in range(0, len(h_Nd), rows):
            block = slice(start, min(len(h_Nd), start + rows))
            whole_nV = product_nV[: block.stop - start]
            if panels is not None:
                byte_products.multiply(h_Nd[block], panels, None, whole_nV, past_caches=False)
            else:
                torch.mm(h_Nd[block], w_Vd.T, out=whole_nV)
            targets_n = targets_N[block]
            g_nV = whole_nV[: len(targets_n)]
            if by_sampling:
                gradients = hidden_gradient[block], weight_gradient
                sums += sampled_gradient.sampled(g_nV, targets_n, smoothing, h_Nd[block], w_Vd, *gradients)
                continue
            if agreement:
                apart += disagreement(g_nV, apart_nV[: len(g_nV)] if wanted else None)
            sums += _to_gradient(g_nV, targets_n, smoothing, wanted, buffer_nV)
            if wanted:
                if agreement:
                    g_nV.add_(apart_nV[: len(g_nV)], alpha=agreement)
                whole_nV[len(g_nV) :] = 0
                torch.mm(whole_nV, w_Vd, out=hidden_gradient[block])
                weight_gradient += whole_nV.T @ h_Nd[block]

        if wanted:
            ctx.save_for_backward(hidden_gradient[:N], weight_gradient)
            ctx.dtypes, ctx.rows = (hidden_Nd.dtype, weight_Vd.dtype), len(hidden_Nd)
        nll, uniform, correct = sums.unbind()
        loss = (1 - smoothing) * nll + smoothing * uniform + agreement * apart
        ctx.mark_non_differentiable(nll, correct, apart)
        return loss, nll, correct, apart

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        hidden_dtype, weight_dtype = ctx.dtypes
        scale = gradients[0]
        dh = hidden_gradient.to(hidden_dtype) * scale
        if ctx.asked is not None:
            dh = dh.new_zeros(ctx.rows, dh.shape[1]).index_copy_(0, ctx.asked, dh)
        return (
            dh,
            weight_gradient.to(weight_dtype) * scale,
            None,
            None,
            None,
            None,
        )


def _asked(targets_N: Tensor) -> Tensor | None:
    """The rows that are not to be left out; None: all."""
    asked_N = targets_N != NOTHING
    return None if bool(asked_N.all()) else asked_N.nonzero()[:, 0]


def _rows_at_once(h_Nd: Tensor, V: int, in_bytes: bool) -> tuple[int, int]:
    """How many rows' logits are multiplied at once, an even number, and how many of them go in float32."""
    elements, some, most = BLOCK_ELEMENTS, SOME_ELEMENTS, BYTE_ROWS if in_bytes else MOST_ROWS
    if h_Nd.device.type != "cpu":
        elements, some, most = GPU_BLOCK_ELEMENTS, GPU_BLOCK_ELEMENTS, len(h_Nd)
    rows = max(1, min(len(h_Nd), elements // V, most))
    rows += rows % 2  # pairs stay together
    is_whole = native.suits(h_Nd) or kernel("nn.kernels.triton_cross_entropy", h_Nd) is not None
    return rows, 0 if is_whole else max(1, min(rows, some // V))


def _to_gradient(
    logits_nV: Tensor, targets_n: Tensor, smoothing: float, wanted: bool, buffer_nV: Tensor
) -> Tensor:
    """Negative log-likelihood, the same under the uniform distribution, correct guesses, summed: (3,).

    In the place of the logits, where it is wanted, their gradient.
    """
    if native.suits(logits_nV):
        n, V = logits_nV.shape
        sums = torch.empty(3, dtype=torch.float64)
        native.call("cross_entropy", logits_nV.dtype, logits_nV, targets_n, sums, n, V, smoothing, wanted)
        return sums
    by_triton = kernel("nn.kernels.triton_cross_entropy", logits_nV)
    if by_triton is not None:
        found: Tensor = by_triton.rows_to_gradient(logits_nV, targets_n, smoothing, wanted)
        return found
    few = len(buffer_nV)
    return torch.stack(
        [
            _eager(part_nV, buffer_nV[: len(part_nV)], of_part_n, smoothing, wanted)
            for part_nV, of_part_n in zip(
                torch.split(logits_nV, few), torch.split(targets_n, few), strict=True
            )
        ]
    ).sum(0)


def _eager(logits_nV: Tensor, p_nV: Tensor, targets_n: Tensor, smoothing: float, wanted: bool) -> Tensor:
    """See :func:`_to_gradient`; ``p_nV`` is a buffer."""
    V, target_n1 = logits_nV.shape[1], targets_n[:, None].clamp_min(0)
    real_n1 = (targets_n != NOTHING).to(p_nV.dtype)[:, None]
    p_nV.copy_(logits_nV)
    highest_n1 = p_nV.amax(1, keepdim=True)
    target_logit_n1 = p_nV.gather(1, target_n1)
    mean_n1 = p_nV.mean(1, keepdim=True)
    mass_n1 = p_nV.sub_(highest_n1).exp_().sum(1, keepdim=True)
    log_mass_n1 = mass_n1.log() + highest_n1
    if wanted:
        p_nV.div_(mass_n1).sub_(smoothing / V)
        p_nV.scatter_add_(1, target_n1, p_nV.new_full((1, 1), smoothing - 1).expand_as(target_n1))
        logits_nV.copy_(p_nV if targets_n.device.type == "cpu" else p_nV.mul_(real_n1))
    parts = (
        log_mass_n1 - target_logit_n1,
        log_mass_n1 - mean_n1,
        (target_logit_n1 >= highest_n1).to(p_nV.dtype),
    )
    return torch.stack([(part * real_n1).sum() for part in parts])


def _product_dtype(x: Tensor) -> torch.dtype:
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype


def linear_cross_entropy(
    hidden_Nd: Tensor, weight_Vd: Tensor, targets_N: Tensor, smoothing: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Smoothed loss (with gradients), negative log-likelihood and correct first guesses, summed over N.

    A target that shares the highest logit with others counts as correct. The sums are in float32, or in
    float64 for inputs in float64.

    Args:
        hidden_Nd: what the output layer reads.
        weight_Vd: its matrix.
        targets_N: the right ids, or ``NOTHING`` for a row that counts nothing.
        smoothing: s, from 0 to 1.

    Raises:
        IndexError: a target that is no id (on a CPU).
    """
    loss, nll, correct, _ = _applied(hidden_Nd, weight_Vd, targets_N, smoothing, 0.0)
    return loss, nll, correct


def agreeing_cross_entropy(
    hidden_N2d: Tensor, weight_Vd: Tensor, targets_N: Tensor, smoothing: float, alpha: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same of two guesses at every target, and how far apart they are (``kernels.disagreement``).

    Args:
        hidden_N2d: what the output layer reads for both guesses, (N, 2, d).
        weight_Vd: its matrix.
        targets_N: the right ids, or ``NOTHING`` for a row that counts nothing.
        smoothing: s, from 0 to 1.
        alpha: the weight of their disagreement.

    Returns:
        The smoothed loss of both guesses and alpha times their disagreement, with gradients; negative
        log-likelihood and correct first guesses of both; the disagreement. All summed.

    Raises:
        IndexError: a target that is no id (on a CPU).
    """
    return _applied(hidden_N2d.flatten(0, 1), weight_Vd, targets_N.repeat_interleave(2), smoothing, alpha)


def _applied(*arguments: Tensor | float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    # An autograd function cannot see by itself that nothing is recorded.
    recorded = torch.is_grad_enabled()
    sums: tuple[Tensor, Tensor, Tensor, Tensor] = _LinearCrossEntropy.apply(  # type: ignore[no-untyped-call]
        *arguments, recorded
    )
    return sums
