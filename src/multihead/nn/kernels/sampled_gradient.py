"""Gradients of an output layer from an unbiased sparse sample of the logits' gradient (native, CPU).

Equations: dh = g W and dW = g^T h, with g = softmax(h W^T) - q. Nearly all of g is close to 0, yet both
products make up two thirds of the layer's work. Here stochastic rounding (Gupta et al. 2015, sec. 3.1) sets
each entry smaller than a grain to 0 or to a grain of its sign, which keeps its mean; the draws are systematic
(Madow 1949). A few per cent of the entries remain. If 2 % of 8,000 remain and d is 256, softmax and both
products take less than a third of their time, and a small Transformer's update takes 0.85 of its time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from multihead.system import native

MIN_REDUCTION = 8
"""Sampling pays if it shortens the rows of an untrained model at least this many times."""

_grain = ContextVar("grain", default=0.0)  # per context: while one thread trains, another may not


@contextmanager
def sampling(grain: float) -> Iterator[None]:
    """Sample the logits' gradients with this grain inside the context; 0, the default: no sampling."""
    before = _grain.set(grain)
    try:
        yield
    finally:
        _grain.reset(before)


def suits(logits_nV: Tensor) -> bool:
    """Return whether the gradient of these logits is sampled here."""
    grain = _grain.get()
    return grain > 0 and native.suits(logits_nV) and logits_nV.shape[1] * grain >= MIN_REDUCTION


def sample(
    logits_nV: Tensor,
    targets_n: Tensor,
    smoothing: float,
    h_nd: Tensor,
    w_Vd: Tensor,
    hidden_gradient_nd: Tensor,
    weight_gradient_Vd: Tensor,
) -> Tensor:
    """Write ``hidden_gradient_nd``, add to ``weight_gradient_Vd``, overwrite the logits.

    Targets must be ids from 0 to V - 1: the kernel uses them as addresses without a check.

    Returns:
        Sums of negative log-likelihood, mean -log p over the vocabulary, and correct predictions, (3,).
    """
    (n, V), d = logits_nV.shape, h_nd.shape[1]
    sums = torch.empty(3, dtype=torch.float64)
    tensors = h_nd, w_Vd.contiguous(), hidden_gradient_nd, weight_gradient_Vd
    numbers = n, V, d, smoothing, _grain.get(), native.seed()
    native.call("sampled_cross_entropy", logits_nV.dtype, logits_nV, targets_n, sums, *tensors, *numbers)
    return sums
