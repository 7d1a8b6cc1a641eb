"""Attention masks, True = may attend, made once per forward pass.

A mask has shape (B or 1, 1, Q or 1, K). Masks combine with ``&``. A query without any key gets 0.
"""

import torch
from torch import Tensor


def padding(lengths_B: Tensor, length: int) -> Tensor:
    """Allow the first ``lengths_B[b]`` keys of each sentence; (B, 1, 1, length)."""
    return (torch.arange(length, device=lengths_B.device) < lengths_B[:, None])[:, None, None, :]


def causal(length: int, device: torch.device | None = None) -> Tensor:
    """Allow each position itself and earlier ones (Vaswani et al. 2017, sec. 3.2.3); (1, 1, N, N)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]


def causal_window(length: int, reach: int, device: torch.device | None = None) -> Tensor:
    """Allow each position itself and the ``reach`` positions before it; (1, 1, N, N)."""
    places_N = torch.arange(length, device=device)
    back_NN = places_N[:, None] - places_N
    return ((back_NN >= 0) & (back_NN <= reach))[None, None]


def window(length: int, r: int, device: torch.device | None = None) -> Tensor:
    """Allow each position the r positions centred on it, r odd; (1, 1, N, N).

    Restricted self-attention (Vaswani et al. 2017, sec. 4, Table 1).
    """
    places_N = torch.arange(length, device=device)
    return ((places_N - places_N[:, None]).abs() <= r // 2)[None, None]
