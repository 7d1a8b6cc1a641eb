"""What cross-entropy hands back through an output layer, from few entries of its gradient (native, CPU).

Equations: dh = g W and dW = g^T h, with g = softmax(h W^T) - q. Nearly all of g is next to nothing, though
both products together are two thirds of the layer's work. Here an entry smaller than a grain becomes 0 or a
grain with its sign, at random, so that its mean is what it was (stochastic rounding, Gupta et al. 2015, sec.
3.1, near 0 only; drawn systematically, Madow 1949), and some entries in a hundred are left to be multiplied.
Where 2 % of 8,000 are left and d is 256, softmax and both products take less than a third of their time, a
small Transformer's update 0.85.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from multihead import native

SAMPLED_FROM = 8
"""It pays where a row of logits is so many times as long as what is left of it before anything is learnt."""

_grain = ContextVar("grain", default=0.0)  # of a thread: while one trains another may not


@contextmanager
def sampling(grain: float) -> Iterator[None]:
    """Inside, gradients at the logits may be sampled, with this grain; 0, as outside: they are whole."""
    before = _grain.set(grain)
    try:
        yield
    finally:
        _grain.reset(before)


def suits(logits_nV: Tensor) -> bool:
    """Tell whether the gradient of so many logits is to be sampled here."""
    grain = _grain.get()
    return grain > 0 and native.suits(logits_nV) and logits_nV.shape[1] * grain >= SAMPLED_FROM


def sampled(
    logits_nV: Tensor,
    targets_n: Tensor,
    smoothing: float,
    h_nd: Tensor,
    w_Vd: Tensor,
    hidden_gradient_nd: Tensor,
    weight_gradient_Vd: Tensor,
) -> Tensor:
    """Write ``hidden_gradient_nd``, add to ``weight_gradient_Vd``; the logits are used up.

    Targets are ids, from 0 to V - 1: the kernel reads and writes where they say.

    Returns:
        Negative log-likelihood, the same under the uniform distribution, correct guesses, (3,).
    """
    (n, V), d = logits_nV.shape, h_nd.shape[1]
    sums = torch.empty(3, dtype=torch.float64)
    tensors = h_nd, w_Vd.contiguous(), hidden_gradient_nd, weight_gradient_Vd
    numbers = n, V, d, smoothing, _grain.get(), native.seed()
    native.call("sampled_cross_entropy", logits_nV.dtype, logits_nV, targets_n, sums, *tensors, *numbers)
    return sums
