"""Sparse attention over a text followed by an image, row by row (Ramesh et al. 2021, app. B.1, fig. 11).

Text tokens attend causally to text. An image token attends to all text and to a layout's image tokens.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from multihead.nn import ops
from multihead.nn.attention import attention_weights
from multihead.nn.parts import gathered_attention

GATHER_RATIO = 24
"""Gathering keys pays if a token attends to at most 1 / GATHER_RATIO of the image. On a CPU, with 1,024
tokens, gathering 33 keys takes 0.7 times as long as masking all of them; gathering 61 takes 1.5 times."""

Kind = Literal["full", "row", "column", "convolution"]


@dataclass(frozen=True, slots=True)
class SparseLayout:
    """The attention pattern of one layer over ``text`` tokens and a grid of ``rows * columns`` tokens.

    Attributes:
        kind: "row": the last ``columns + 1`` tokens, from the one above on; "column": the tokens above in the
            same column; "convolution": the earlier tokens of a square around it, wrapping around at the edges
            as in the figure; "full": all earlier tokens. A token always attends to itself.
        kernel: height and width of that square, odd.
    """

    kind: Kind
    text: int
    rows: int
    columns: int
    kernel: int = 11

    @property
    def length(self) -> int:
        """Total number of tokens."""
        return self.text + self.rows * self.columns

    def mask(self) -> Tensor:
        """True = may attend, (length, length)."""
        allowed = torch.ones(self.length, self.length, dtype=torch.bool).tril()
        allowed[self.text :, self.text :] = self._grid()
        return allowed

    def places(self) -> Tensor:
        """The image tokens that each image token attends to, (n, most), padded with -1."""
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
    """Scaled dot-product attention restricted to a layout.

    The queries are the last positions of the keys: all of them in training, one in a cached step.
    """

    def __init__(self, layout: SparseLayout) -> None:
        super().__init__()
        self.layout = layout
        self.allowed: Tensor
        self.attended: Tensor
        self.register_buffer("allowed", layout.mask(), persistent=False)
        self.register_buffer("attended", layout.places(), persistent=False)

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The paper's equation with the layout's dense mask; see ``nn.attention.attention_weights``."""
        return attention_weights(q, k, self.mask(q, k))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """As ``nn.attention.attention``; the mask is the layout's own."""
        whole = q.shape[2] == k.shape[2] > self.layout.text
        if whole and GATHER_RATIO * self.attended.shape[1] <= self.layout.rows * self.layout.columns:
            return gathered_attention.attend(q, k, v, self.layout.text, self.attended)
        return ops.attention(q, k, v, self.mask(q, k))

    def mask(self, q: Tensor, k: Tensor) -> Tensor:
        """The layout's mask of these queries, True = may attend, (Q, K)."""
        queries, keys = q.shape[2], k.shape[2]
        return self.allowed[keys - queries : keys, :keys]
