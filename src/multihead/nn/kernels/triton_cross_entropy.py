"""Cross-entropy of rows of logits and its gradient, in one kernel (GPU, Triton).

Equation, with p = softmax(logits) and q = (1 - s) one_hot(y) + s / V (Szegedy et al. 2016, sec. 7):
loss = -sum q log p, d loss / d logits = p - q. A row is read twice and written once, in its own format; one
pass finds the softmax's maximum and sum (Milakov and Gimelshein 2018, algorithm 3).
Imported only if Triton is available (PyTorch for CUDA includes it).
"""

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

MAX_BLOCK = 4096
"""Most columns of a row that are read at a time."""


@triton.jit  # type: ignore[untyped-decorator]
def _cross_entropy(  # type: ignore[no-untyped-def]
    logits,
    targets,
    sums,
    V: tl.constexpr,
    smoothing,
    WITH_GRADIENT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    logits += row * V
    target = tl.load(targets + row)
    real = tl.where(target >= 0, 1.0, 0.0)
    columns = tl.arange(0, BLOCK)

    highest_c = tl.full((BLOCK,), float("-inf"), tl.float32)
    mass_c = tl.zeros((BLOCK,), tl.float32)
    total_c = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, V, BLOCK):
        inside = start + columns < V
        x = tl.load(logits + start + columns, mask=inside, other=float("-inf")).to(tl.float32)
        higher_c = tl.maximum(highest_c, x)
        # In a lane without a value so far, -inf - -inf would be NaN.
        safe_c = tl.where(higher_c == float("-inf"), 0.0, higher_c)
        mass_c = mass_c * tl.exp(highest_c - safe_c) + tl.exp(x - safe_c)
        total_c += tl.where(inside, x, 0.0)
        highest_c = higher_c
    highest = tl.max(highest_c, axis=0)
    mass = tl.sum(mass_c * tl.exp(highest_c - highest), axis=0)
    log_mass = tl.log(mass) + highest
    target_logit = tl.load(logits + tl.maximum(target, 0)).to(tl.float32)

    tl.store(sums + 3 * row, real * (log_mass - target_logit))
    tl.store(sums + 3 * row + 1, real * (log_mass - tl.sum(total_c, axis=0) / V))
    tl.store(sums + 3 * row + 2, tl.where(target_logit >= highest, real, 0.0))
    if WITH_GRADIENT:
        for start in range(0, V, BLOCK):
            column = start + columns
            x = tl.load(logits + column, mask=column < V, other=float("-inf")).to(tl.float32)
            q = smoothing / V + tl.where(column == target, 1.0 - smoothing, 0.0)
            gradient = real * (tl.exp(x - highest) / mass - q)
            tl.store(logits + column, gradient.to(logits.dtype.element_ty), mask=column < V)


def rows_to_gradient(logits_NV: Tensor, targets_N: Tensor, smoothing: float, with_gradient: bool) -> Tensor:
    """Sums of negative log-likelihood, mean -log p over the vocabulary, and correct predictions: (3,).

    Args:
        logits_NV: contiguous; overwritten by their gradient if that is computed.
        targets_N: target ids; -1: a row without loss and gradient.
        smoothing: s.
        with_gradient: whether to compute the gradient.
    """
    N, V = logits_NV.shape
    sums_N3 = torch.empty(N, 3, dtype=torch.float32, device=logits_NV.device)
    block = min(MAX_BLOCK, triton.next_power_of_2(V))
    _cross_entropy[(N,)](
        logits_NV,
        targets_N.contiguous(),
        sums_N3,
        V,
        smoothing,
        WITH_GRADIENT=with_gradient,
        BLOCK=block,
        num_warps=8 if block > 1024 else 4,
    )
    return sums_N3.sum(0)


def prove(device: torch.device) -> None:
    """Compare an example with the equation; see ``multihead.system.gpu``."""
    logits_NV = torch.randn(5, 67, device=device, requires_grad=True)
    targets_N = torch.tensor([3, 66, 0, 9, 3], device=device)
    loss = cross_entropy(logits_NV, targets_N, label_smoothing=0.1, reduction="sum")
    (expected,) = torch.autograd.grad(loss, logits_NV)
    actual = logits_NV.detach().clone()
    nll, uniform, _ = rows_to_gradient(actual, targets_N, 0.1, True)
    assert_close(actual, expected, atol=1e-4, rtol=1e-4)
    assert_close(0.9 * nll + 0.1 * uniform, loss.detach(), atol=1e-3, rtol=1e-4)
