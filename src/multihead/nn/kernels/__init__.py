"""Fast paths, one file each; every one is tested against the equation it computes."""

from torch import Tensor

from multihead.gpu import kernel
from multihead.nn.kernels import fused_attention, matmul_attention, short_attention


def best_attention(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, dropout: float) -> Tensor:
    """softmax(QK^T / sqrt(d_k)) V by the kernel that suits the device; see ``nn.attention.attention``."""
    if q.device.type != "cpu":
        triton = None if dropout else kernel("nn.kernels.triton_attention", q, k, v)
        if triton is not None and triton.suits(q, k, v, allowed):
            short: Tensor = triton.attend(q, k, v, allowed)
            return short
        return fused_attention.attend(q, k, v, allowed, dropout)
    if short_attention.suits(q, k, v, allowed):
        return short_attention.attend(q, k, v, allowed, dropout)
    return matmul_attention.attend(q, k, v, allowed, dropout)
