"""Fast paths, one file each; every one is tested against the equation it computes."""

from torch import Tensor

from multihead.nn.kernels import fused_attention, matmul_attention


def best_attention(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, dropout: float) -> Tensor:
    """softmax(QK^T / sqrt(d_k)) V by the kernel that suits the device; see ``nn.attention.attention``."""
    attend = matmul_attention.attend if q.device.type == "cpu" else fused_attention.attend
    return attend(q, k, v, allowed, dropout)
