"""Who may attend to whom. One polarity: True = may attend. Made once a forward pass.

A mask has shape (B or 1, 1, Q or 1, K) and combines with ``&``. Every query must be left at least one key.
"""

import torch
from torch import Tensor


def padding(lengths_B: Tensor, length: int) -> Tensor:
    """Allow the first ``lengths_B[b]`` keys of each sentence; (B, 1, 1, length)."""
    return (torch.arange(length, device=lengths_B.device) < lengths_B[:, None])[:, None, None, :]


def causal(length: int, device: torch.device | None = None) -> Tensor:
    """Allow each position itself and what came before it (Vaswani et al. 2017, sec. 3.2.3); (1, 1, N, N)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]
