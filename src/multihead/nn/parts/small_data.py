"""Shifted patch tokenization and locality self-attention: a ViT for small data sets (Lee et al. 2021)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn import ops
from multihead.nn.modules import Dropout, LayerNorm
from multihead.nn.parts.patches import grid_of, patches_of


def shift(pixels_BChw: Tensor, by: int) -> Tensor:
    """The image and its four diagonal shifts, filled with 0, as channels; (B, 5 C, h, w) (eq. 3)."""
    height, width = pixels_BChw.shape[2:]
    padded = F.pad(pixels_BChw, (by, by, by, by))
    corners = [(0, 0), (0, 2 * by), (2 * by, 0), (2 * by, 2 * by)]
    moved = [padded[:, :, y : y + height, x : x + width] for y, x in corners]
    return torch.cat([pixels_BChw, *moved], dim=1)


class ShiftedPatches(nn.Module):
    """Project LayerNorm of the patches of an image and of its shifts by half a patch (sec. 3.1, eq. 4).

    A token sees twice the height and width of its patch.

    Args:
        size: height and width of a patch, in pixels.
        channels: C.
        d_model: width of the output.
    """

    def __init__(self, size: int, channels: int, d_model: int) -> None:
        super().__init__()
        self.size = size
        self.norm = LayerNorm(5 * channels * size * size)
        self.project = nn.Linear(5 * channels * size * size, d_model)

    def forward(self, pixels_BChw: Tensor) -> Tensor:
        """Embed the patches; (B, C, h, w) to (B, P, d_model)."""
        tiles_BPe = patches_of(shift(pixels_BChw, max(1, self.size // 2)), self.size)
        embedded_BPd: Tensor = self.project(self.norm(tiles_BPe))
        return embedded_BPd

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """(rows, columns) of the patches of an image."""
        return grid_of(height, width, self.size)


class LocalityAttention(nn.Module):
    """softmax(QK^T / tau, diagonal masked) V with a learned temperature tau (sec. 3.2, eq. 5 to 7).

    Without its own key a token attends to others, and a temperature below sqrt(d_k) sharpens attention: both
    learn locality from few images.

    Args:
        d_k: width of a head; tau starts at sqrt(d_k).
        dropout: probability of dropping an attention weight.
    """

    def __init__(self, d_k: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.tau = nn.Parameter(torch.tensor(math.sqrt(d_k)))
        self.dropout = Dropout(dropout)

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The weights of each query over the other tokens, (B, H, N, N); rows sum to 1."""
        others = ~torch.eye(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device)
        return ops.masked_softmax(q @ k.mT / self.tau, others if allowed is None else others & allowed)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """(B, H, N, d_v); shapes and mask as of ``nn.attention``."""
        weights: Tensor = self.dropout(self.weights(q, k, allowed))
        return weights.to(v.dtype) @ v
