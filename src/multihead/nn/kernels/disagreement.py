"""Symmetric KL divergence of two predictions of one token, and its gradient: R-Drop (Liang et al. 2021).

Equation 2 of the paper, with p = softmax(a), q = softmax(b) and D = log p - log q:
S = (KL(p || q) + KL(q || p)) / 2 = sum (p - q) D / 2, d S / d a = (p (D - sum p D) + p - q) / 2, and for b
the same with p and q exchanged. Autograd would keep ten matrices as large as the logits; this keeps one.
"""

import torch
from torch import Tensor


def disagreement(logits_NV: Tensor, gradient_NV: Tensor | None) -> Tensor:
    """S, summed over pairs of rows (0 and 1, 2 and 3, ...), a scalar in double precision; no autograd.

    Args:
        logits_NV: an even number of rows.
        gradient_NV: receives d S / d logits, in its own format; None: no gradient.
    """
    assert len(logits_NV) % 2 == 0
    exact = torch.promote_types(logits_NV.dtype, torch.float32)
    log_p, log_q = (logits_NV[half::2].to(exact).log_softmax(1) for half in (0, 1))
    p, q = log_p.exp(), log_q.exp()
    log_p -= log_q  # D
    mean_p, mean_q = (p * log_p).sum(1, keepdim=True), (q * log_p).sum(1, keepdim=True)
    if gradient_NV is not None:
        gradient_NV[0::2] = (p * (log_p - mean_p) + p - q) / 2
        gradient_NV[1::2] = (q * (mean_q - log_p) + q - p) / 2
    return (mean_p - mean_q).sum().double() / 2
