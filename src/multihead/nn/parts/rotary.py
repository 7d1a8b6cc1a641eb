"""Rotary positions: rotate queries and keys by an angle proportional to their position (Su et al. 2021)."""

import torch
from torch import Tensor, nn

from multihead.nn.description import RotarySpec


class RotaryPositions(nn.Module):
    """Rotate each pair (x_2i, x_2i+1) at position m by m theta_i, theta_i = base^(-2i / d) (eq. 15 and 34).

    A score then depends on positions only through their difference. Nothing is learned, and values are not
    rotated.

    Args:
        d_k: width of a head's queries and keys, even.
        base: 10,000 in the paper.

    Raises:
        ValueError: d_k is odd.
    """

    def __init__(self, d_k: int, base: float = 10_000.0) -> None:
        super().__init__()
        if d_k % 2:
            raise ValueError(f"rotary positions rotate pairs, and d_k {d_k} is odd")
        self.d_k, self.base = d_k, base

    def forward(self, x_BHNd: Tensor, start: int = 0) -> Tensor:
        """Rotate queries or keys at positions start, start + 1, ...; same shape."""
        N, device = x_BHNd.shape[2], x_BHNd.device
        pairs_p = torch.arange(0, self.d_k, 2, device=device, dtype=torch.float64)
        positions_N = torch.arange(start, start + N, device=device, dtype=torch.float64)
        angle_Np = positions_N[:, None] * self.base ** (-pairs_p / self.d_k)
        cos, sin = angle_Np.cos().to(x_BHNd.dtype), angle_Np.sin().to(x_BHNd.dtype)
        even, odd = x_BHNd[..., 0::2], x_BHNd[..., 1::2]
        return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)

    def describe(self) -> RotarySpec:
        """The description that engines and exports read."""
        return RotarySpec(self.base)


class HalfRotaryPositions(RotaryPositions):
    """Rotary positions that rotate the pairs (x_i, x_i+d/2), as in Hugging Face's Llama and its weights.

    The same rotation with the columns of W^Q and W^K in another order.
    """

    def forward(self, x_BHNd: Tensor, start: int = 0) -> Tensor:
        """Rotate queries or keys at positions start, start + 1, ...; same shape."""
        pairs_BHNd = torch.stack(x_BHNd.chunk(2, dim=-1), dim=-1).flatten(-2)
        rotated_BHNd = super().forward(pairs_BHNd, start)
        return torch.cat([rotated_BHNd[..., 0::2], rotated_BHNd[..., 1::2]], dim=-1)

    def describe(self) -> RotarySpec:
        """The description that engines and exports read."""
        return RotarySpec(self.base)
