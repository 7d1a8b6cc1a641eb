"""softmax(QK^T / sqrt(d_k)) V by PyTorch's fused kernels, which never write the weights to memory (GPU)."""

import torch.nn.functional as F
from torch import Tensor


def attend(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, dropout: float) -> Tensor:
    """Shapes as ``nn.attention.attention``."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, dropout_p=dropout)
