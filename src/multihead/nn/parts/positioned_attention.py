"""Multi-head attention with positions added to queries and keys (Carion et al. 2020, app. A.3)."""

import math

import torch
from torch import Tensor

from multihead.nn.modules import all_linear
from multihead.nn.multi_head import MultiHeadAttention


class PositionedAttention(MultiHeadAttention):
    """Attention whose queries and keys are content plus position; the values are content alone."""

    def forward(  # type: ignore[override]
        self,
        x_BQd: Tensor,
        memory_BKd: Tensor,
        query_positions_BQd: Tensor,
        key_positions_BKd: Tensor,
    ) -> Tensor:
        """Attend from x to the memory; (B, Q, d_model). Positions are broadcast to their content's shape."""
        key_BKd = memory_BKd + key_positions_BKd
        if memory_BKd is x_BQd and query_positions_BQd is key_positions_BKd:
            q, k = all_linear(key_BKd, self.w_q, self.w_k)
        else:
            q, k = self.w_q(x_BQd + query_positions_BQd), self.w_k(key_BKd)
        q_BHQd, k_BHKd = self._heads(q, self.num_heads), self._heads(k, self.num_kv_heads)
        return self.attend(q_BHQd, k_BHKd, self._heads(self.w_v(memory_BKd), self.num_kv_heads), None)


def sinusoids_2d(places_N2: Tensor, d_model: int, ratio: float = 10.0) -> Tensor:
    """Sines and cosines of places in an image, half of the channels for y and half for x; (..., d_model).

    The longest wave is twice as long as the image and the shortest a fifth of it, so that likeness falls
    with distance. Carion et al. use the wavelengths of texts, most of them much longer than an image.

    Args:
        places_N2: (x, y) from 0 to 1, (..., 2).
        d_model: a multiple of 4.
        ratio: ratio of the longest to the shortest wavelength.
    """
    quarter = d_model // 4
    steps = torch.arange(quarter, dtype=torch.float32, device=places_N2.device) / max(1, quarter - 1)
    angles = math.pi * places_N2.float()[..., None] * ratio**steps
    waves_N2d = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return waves_N2d.flip(-2).flatten(-2)


def grid_places(rows: int, columns: int, device: torch.device | None = None) -> Tensor:
    """The (x, y) of the centres of a grid's cells from 0 to 1, row by row; (rows * columns, 2)."""
    y = (torch.arange(rows, device=device) + 0.5) / rows
    x = (torch.arange(columns, device=device) + 0.5) / columns
    return torch.cartesian_prod(y, x).flip(-1)
