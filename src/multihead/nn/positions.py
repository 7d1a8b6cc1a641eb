"""Positional encodings (Vaswani et al. 2017, sec. 3.5)."""

from typing import Literal

import torch
from torch import Tensor, nn

from multihead.nn.description import PositionsSpec


def sinusoids(length: int, d_model: int, *, interleaved: bool = True) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i+1) = cos(...); (length, d_model).

    Interleaved as in the paper. Otherwise all sines precede all cosines, with the wavelengths spread over
    d_model / 2 - 1 steps, as in the authors' code (tensor2tensor, ``get_timing_signal_1d``).
    """
    half = (d_model + 1) // 2
    steps = torch.arange(half, dtype=torch.float64)
    exponent = 2 * steps / d_model if interleaved else steps / max(half - 1, 1)
    angle = torch.arange(length, dtype=torch.float64)[:, None] / 10_000**exponent
    waves = (angle.sin(), angle.cos())
    table = torch.stack(waves, dim=-1).flatten(1) if interleaved else torch.cat(waves, dim=1)
    return table[:, :d_model].float()


class SinusoidalPositions(nn.Module):
    """Add the sinusoids of section 3.5: fixed, for sequences of any length."""

    def __init__(self, d_model: int, *, interleaved: bool = True) -> None:
        super().__init__()
        self.d_model, self.interleaved = d_model, interleaved
        self.table: Tensor
        self.register_buffer("table", sinusoids(512, d_model, interleaved=interleaved), persistent=False)
        self._outgrown: list[Tensor] = []

    def forward(self, x_BNd: Tensor, start: int = 0, shift_B: Tensor | None = None) -> Tensor:
        """Add the encodings of positions start, start + 1, ...; see :func:`_rows`."""
        end = start + x_BNd.shape[1]
        return x_BNd + _rows(self.encodings(end), start, end, shift_B).to(x_BNd.dtype)

    def encodings(self, end: int) -> Tensor:
        """The encodings of positions 0, 1, ..., at least up to ``end``, (any, d_model)."""
        if end > len(self.table):
            longer = sinusoids(2 * end, self.d_model, interleaved=self.interleaved)
            # Recorded CUDA graphs (``training.cuda_graphs``) still read the old table.
            self._outgrown.append(self.table)
            self.table = longer.to(self.table)
        return self.table

    def describe(self) -> PositionsSpec:
        """The description that engines and exports read."""
        kind: Literal["sinusoidal", "sinusoidal_concatenated"]
        kind = "sinusoidal" if self.interleaved else "sinusoidal_concatenated"
        return PositionsSpec(kind, self.encodings)


class LearnedPositions(nn.Module):
    """Add a learned vector for each position (Table 3, row E; Gehring et al. 2017).

    Args:
        limit: number of positions.
        d_model: their width.
    """

    def __init__(self, limit: int, d_model: int) -> None:
        super().__init__()
        self.limit = limit
        self.weight = nn.Parameter(torch.randn(limit, d_model) * 0.02)

    def forward(self, x_BNd: Tensor, start: int = 0, shift_B: Tensor | None = None) -> Tensor:
        """Add the vectors of positions start, start + 1, ...; see :func:`_rows`.

        Raises:
            ValueError: a position is beyond the limit.
        """
        end = start + x_BNd.shape[1]
        furthest = end if shift_B is None else end - int(shift_B.min())
        if furthest > self.limit:
            raise ValueError(f"position {furthest} is beyond the {self.limit} learned positions")
        return x_BNd + _rows(self.weight, start, end, shift_B).to(x_BNd.dtype)

    def encodings(self, end: int) -> Tensor:
        """All learned vectors, (limit, d_model)."""
        return self.weight

    def describe(self) -> PositionsSpec:
        """The description that engines and exports read."""
        return PositionsSpec("learned", self.encodings, self.weight)


class NoPositions(nn.Module):
    """Add nothing: a causal model can infer positions from its mask (Irie et al. 2019)."""

    def forward(self, x_BNd: Tensor, start: int = 0, shift_B: Tensor | None = None) -> Tensor:
        """Return x."""
        return x_BNd

    def encodings(self, end: int) -> None:
        """Return None: no position has an encoding."""

    def describe(self) -> PositionsSpec:
        """The description that engines and exports read."""
        return PositionsSpec("none", self.encodings)


def _rows(table: Tensor, start: int, end: int, shift_B: Tensor | None) -> Tensor:
    """Rows start to end, (N, d); with sentence b shifted right by ``shift_B[b]`` positions, (B, N, d)."""
    if shift_B is None:
        return table[start:end]
    positions = torch.arange(start, end, device=table.device) - shift_B[:, None]
    return table[positions.clamp_min(0)]
