"""softmax(QK^T / sqrt(d_k)) V where each image token attends to the text and to few image tokens.

The keys of those few are gathered: n image tokens with m keys each cost n * m scores instead of n * n.
"""

import math

import torch
from torch import Tensor

from multihead.nn import ops


def attend(q_BHNd: Tensor, k_BHNd: Tensor, v_BHNd: Tensor, text: int, places_nm: Tensor) -> Tensor:
    """Attend; (B, H, N, d_v).

    Args:
        q_BHNd: queries of ``text`` tokens and then N - text image tokens.
        k_BHNd: their keys.
        v_BHNd: their values.
        text: number of text tokens; they attend causally, to text only.
        places_nm: for each of n >= N - text image tokens, the image tokens it attends to; -1: unused.
    """
    causal = torch.ones(text, text, dtype=torch.bool, device=q_BHNd.device).tril()
    k_text, v_text = k_BHNd[:, :, :text], v_BHNd[:, :, :text]
    of_text = ops.attention(q_BHNd[:, :, :text], k_text, v_text, causal)

    q = q_BHNd[:, :, text:] * (1 / math.sqrt(q_BHNd.shape[-1]))
    places_nm = places_nm[: q.shape[2]]
    rows = places_nm.clamp_min(0)
    k_BHnmd, v_BHnmd = k_BHNd[:, :, text:][:, :, rows], v_BHNd[:, :, text:][:, :, rows]
    near = (k_BHnmd @ q[..., None])[..., 0].masked_fill(places_nm < 0, torch.finfo(q.dtype).min)
    weights = torch.cat([q @ k_text.mT, near], dim=-1).softmax(dim=-1)
    of_image = weights[..., :text] @ v_text + (weights[..., None, text:] @ v_BHnmd)[..., 0, :]
    return torch.cat([of_text, of_image], dim=2)
