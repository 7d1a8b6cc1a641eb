"""Positions of patches: learned (Dosovitskiy et al. 2021, eq. 1), or fixed sinusoids of two dimensions.

Suffixes beside the package's legend: P patches, r and c the rows and columns of their grid.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class PatchPositions(nn.Module):
    """Add a learned position vector to each patch (eq. 1), interpolated for images of another size.

    Args:
        rows: rows of patches in the training images.
        columns: columns of patches in the training images.
        d_model: width of the vectors.
    """

    def __init__(self, rows: int, columns: int, d_model: int) -> None:
        super().__init__()
        self.rows, self.columns = rows, columns
        self.weight = nn.Parameter(torch.randn(rows * columns, d_model) * 0.02)

    def forward(self, x_BPd: Tensor, rows: int, columns: int) -> Tensor:
        """Add the vectors to x, whose P patches are ``rows * columns``; same shape."""
        table_Pd: Tensor = self.weight
        if (rows, columns) != (self.rows, self.columns):
            table_Pd = resize(table_Pd, (self.rows, self.columns), (rows, columns))
        return x_BPd + table_Pd.to(x_BPd.dtype)


def resize(table_Pd: Tensor, old: tuple[int, int], new: tuple[int, int]) -> Tensor:
    """Interpolate position vectors to another grid of patches, bicubically (sec. 3.2).

    Args:
        table_Pd: one vector per patch, row by row.
        old: (rows, columns) of their grid.
        new: (rows, columns) of the new grid.
    """
    grid_1drc = table_Pd.reshape(*old, -1).permute(2, 0, 1)[None]
    interpolated = F.interpolate(grid_1drc.float(), size=new, mode="bicubic", align_corners=False)
    return interpolated[0].permute(1, 2, 0).reshape(new[0] * new[1], -1).to(table_Pd.dtype)


def sinusoids_2d(rows: int, columns: int, d_model: int, base: float = 10_000.0) -> Tensor:
    """SimpleViT's fixed positions (Beyer et al. 2022): [sin x, cos x, sin y, cos y] of each patch, (P, d).

    A quarter of the width for each, at frequencies base^(-k / (d / 4 - 1)), as in the authors' code
    (github.com/google-research/big_vision, ``posemb_sincos_2d``).

    Raises:
        ValueError: d_model is not a multiple of 4, or less than 8.
    """
    quarter = d_model // 4
    if d_model % 4 or quarter < 2:
        raise ValueError(f"sinusoids of two dimensions need a width of 8, 12, 16, ..., not {d_model}")
    frequency_k = base ** -(torch.arange(quarter, dtype=torch.float64) / (quarter - 1))
    y_rc, x_rc = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    x_Pk, y_Pk = (place.flatten()[:, None] * frequency_k for place in (x_rc, y_rc))
    return torch.cat([x_Pk.sin(), x_Pk.cos(), y_Pk.sin(), y_Pk.cos()], dim=1).float()


class SinusoidalPatchPositions(nn.Module):
    """Add the fixed sinusoids of SimpleViT, for images of any size.

    Args:
        rows: rows of patches in the training images.
        columns: columns of patches in the training images.
        d_model: width of the vectors, a multiple of 4.
    """

    def __init__(self, rows: int, columns: int, d_model: int) -> None:
        super().__init__()
        self.rows, self.columns, self.d_model = rows, columns, d_model
        self.table: Tensor
        self.register_buffer("table", sinusoids_2d(rows, columns, d_model), persistent=False)

    def forward(self, x_BPd: Tensor, rows: int, columns: int) -> Tensor:
        """Add the vectors to x, whose P patches are ``rows * columns``; same shape."""
        table_Pd = self.table
        if (rows, columns) != (self.rows, self.columns):
            table_Pd = sinusoids_2d(rows, columns, self.d_model).to(self.table.device)
        return x_BPd + table_Pd.to(x_BPd.dtype)


class NoPatchPositions(nn.Module):
    """Add nothing: overlapping convolutions already know where a patch is (Hassani et al. 2021, sec. 3.4)."""

    def forward(self, x_BPd: Tensor, rows: int, columns: int) -> Tensor:
        """Return x."""
        return x_BPd
