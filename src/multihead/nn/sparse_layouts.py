"""Who looks at whom in text and then a picture, row by row (Ramesh et al. 2021, app. B.1, fig. 11).

Text looks at itself, causally; a picture's token at all text and, of the picture, at what the layout says.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from multihead.nn import gathered_attention, ops
from multihead.nn.attention import attention_weights

WORTHWHILE = 24
"""Gathering keys pays where a token looks at less than this part of the picture (measured on a CPU: of 1,024
tokens, 33 gathered take 0.7 times as long as all of them masked, and 61 take 1.5 times as long)."""

Kind = Literal["full", "row", "column", "convolution"]


@dataclass(frozen=True, slots=True)
class Layout:
    """A sequence of ``text`` tokens and a grid of ``rows * columns``, and how one layer attends in it.

    Attributes:
        kind: "row": the token above and all since then (``columns + 1`` tokens, itself included); "column":
            those above in the same column; "convolution": those of a square around it that came before, with
            wraparound at the edges, as in the figure; "full": all before.
        kernel: height and width of that square, odd.
    """

    kind: Kind
    text: int
    rows: int
    columns: int
    kernel: int = 11

    @property
    def length(self) -> int:
        """Tokens in all."""
        return self.text + self.rows * self.columns

    def mask(self) -> Tensor:
        """True = may attend, (length, length)."""
        allowed = torch.ones(self.length, self.length, dtype=torch.bool).tril()
        allowed[self.text :, self.text :] = self._grid()
        return allowed

    def places(self) -> Tensor:
        """The picture tokens that each picture token looks at, (n, most); -1 where it looks at fewer."""
        grid_nn = self._grid()
        most = int(grid_nn.sum(dim=1).max())
        order = torch.where(grid_nn, torch.arange(len(grid_nn)), -1).sort(dim=1, descending=True).values
        return order[:, :most]

    def _grid(self) -> Tensor:
        index = torch.arange(self.rows * self.columns)
        back = index[:, None] - index
        if self.kind == "row":
            near = back <= self.columns
        elif self.kind == "column":
            near = back % self.columns == 0
        elif self.kind == "convolution":
            half = self.kernel // 2
            across = torch.arange(-half, half + 1)
            offsets = (torch.arange(half + 1)[:, None] * self.columns + across).flatten()
            near = torch.isin(back, offsets)
        else:
            near = torch.ones_like(back, dtype=torch.bool)
        return near & (back >= 0)


class SparseAttention(nn.Module):
    """Scaled dot-product attention in a layout; computes only what the layout allows.

    The queries are always the last of the keys: all of them in training, one in a cached step.
    """

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.layout = layout
        self.allowed: Tensor
        self.looked_at: Tensor
        self.register_buffer("allowed", layout.mask(), persistent=False)
        self.register_buffer("looked_at", layout.places(), persistent=False)

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The paper's equation with the layout's dense mask; see ``nn.attention.attention_weights``."""
        return attention_weights(q, k, self.mask(q, k))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """As ``nn.attention.attention``; the mask is the layout's own."""
        whole = q.shape[2] == k.shape[2] > self.layout.text
        if whole and WORTHWHILE * self.looked_at.shape[1] <= self.layout.rows * self.layout.columns:
            return gathered_attention.attend(q, k, v, self.layout.text, self.looked_at)
        return ops.attention(q, k, v, self.mask(q, k))

    def mask(self, q: Tensor, k: Tensor) -> Tensor:
        """What the layout lets the queries look at, True = may attend, (Q, K)."""
        queries, keys = q.shape[2], k.shape[2]
        return self.allowed[keys - queries : keys, :keys]
