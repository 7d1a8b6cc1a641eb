"""The SSRU decoder: a simple recurrent unit in the place of self-attention (Kim et al. 2019, sec. 3.1).

Its state has a fixed size, so a step costs the same at every length.
"""

from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor, nn

from multihead.nn import description
from multihead.nn.decoding import LayerCache
from multihead.nn.description import (
    AttentionSpec,
    FeedForwardSpec,
    RecurrentDecoderLayerSpec,
    ResidualSpec,
    SSRUSpec,
    describe,
)
from multihead.nn.feed_forward import FeedForward
from multihead.nn.kernels.linear_scan import linear_scan
from multihead.nn.layers import DecoderLayer
from multihead.nn.modules import Linear, all_linear
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.ops import relu


class SSRU(nn.Module):
    """ReLU(c_t), c_t = f_t c_(t-1) + (1 - f_t) x_t W, f_t = sigmoid(x_t W_f + b_f), c_0 = 0.

    Args:
        d_model: width of input, state and output.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.w = Linear(d_model, d_model, bias=False)
        self.w_f = Linear(d_model, d_model)

    def forward(self, x_BTd: Tensor) -> Tensor:
        """Outputs of all positions of whole sequences, as in training; (B, T, d_model)."""
        forget_BTd, added_BTd = self._gates(x_BTd)
        return relu(linear_scan(forget_BTd, added_BTd)).to(x_BTd.dtype)

    def step(self, x_RQd: Tensor, state_Rd: Tensor, real_RQ: Tensor | None) -> tuple[Tensor, Tensor]:
        """Outputs of the next Q positions, (R, Q, d_model), and the state after them, (R, d_model).

        Args:
            x_RQd: inputs, (R, Q, d_model).
            state_Rd: the state before them.
            real_RQ: False at padding, which leaves the state as it was; None: no padding.
        """
        forget_RQd, added_RQd = self._gates(x_RQd)
        if real_RQ is not None:
            forget_RQd = forget_RQd.masked_fill(~real_RQ[..., None], 1.0)
            added_RQd = added_RQd * real_RQ[..., None]
        states = []
        for forget_Rd, added_Rd in zip(forget_RQd.unbind(1), added_RQd.unbind(1), strict=True):
            state_Rd = forget_Rd * state_Rd + added_Rd
            states.append(state_Rd)
        return relu(torch.stack(states, 1)).to(x_RQd.dtype), state_Rd

    def _gates(self, x_BTd: Tensor) -> tuple[Tensor, Tensor]:
        """f and (1 - f) x W, in float32 at least: a state sums over many steps."""
        candidate, gate = (
            y if y.dtype == torch.float64 else y.float() for y in all_linear(x_BTd, self.w, self.w_f)
        )
        forget = gate.sigmoid()
        return forget, (1 - forget) * candidate

    def describe(self) -> SSRUSpec:
        """The description that engines and exports read."""
        return SSRUSpec(description.describe_linear(self.w), description.describe_linear(self.w_f))


class RecurrentCache(LayerCache):
    """One layer's state per hypothesis, and the source's keys and values per sentence.

    Args:
        source_keys: (N, H, S, d_k).
        source_values: (N, H, S, d_v).
        shift_N: left padding of each sentence's prefix; None: none.
    """

    def __init__(self, source_keys: Tensor, source_values: Tensor, shift_N: Tensor | None) -> None:
        super().__init__(source_keys, source_values)
        self._shift_N = shift_N
        self._state_Rd: Tensor | None = None

    @property
    def rows(self) -> int:
        """See :class:`LayerCache`."""
        return self.sentences if self._state_Rd is None else len(self._state_Rd)

    def advance(self, cell: SSRU, x_RQd: Tensor) -> Tensor:
        """The cell's outputs at the next Q positions, (R, Q, d_model); the state moves on."""
        rows, added, width = x_RQd.shape
        state_Rd = x_RQd.new_zeros(rows, width) if self._state_Rd is None else self._state_Rd
        real_RQ = None
        if self._shift_N is not None:
            columns_Q = torch.arange(self.length, self.length + added, device=x_RQd.device)
            real_RQ = columns_Q >= self._shift_N.repeat_interleave(rows // len(self._shift_N))[:, None]
        out_RQd, self._state_Rd = cell.step(x_RQd, state_Rd, real_RQ)
        self.length += added
        return out_RQd

    def last(self, columns: int) -> Self:
        """Return itself: a state has no columns to free."""
        return self

    def select(self, rows: Tensor) -> "RecurrentCache":
        """See :class:`LayerCache`."""
        return self._move(self.source_keys, self.source_values, self._shift_N, rows)

    def keep(self, sentences: Tensor, rows: Tensor) -> "RecurrentCache":
        """See :class:`LayerCache`."""
        keys, values = (part.index_select(0, sentences) for part in (self.source_keys, self.source_values))
        shift_N = None if self._shift_N is None else self._shift_N.index_select(0, sentences)
        return self._move(keys, values, shift_N, rows)

    def _move(self, keys: Tensor, values: Tensor, shift_N: Tensor | None, rows: Tensor) -> "RecurrentCache":
        new = RecurrentCache(keys, values, shift_N)
        new.length = self.length
        new._state_Rd = None if self._state_Rd is None else self._state_Rd.index_select(0, rows)
        return new


class RecurrentDecoderLayer(DecoderLayer):
    """Recurrent cell, attention over the encoder's output, feed-forward, each in a residual connection."""

    def __init__(
        self,
        cell: SSRU,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residual: Callable[[], nn.Module],
    ) -> None:
        nn.Module.__init__(self)  # without the parent's self-attention
        self.cell = cell
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.around_self, self.around_cross, self.around_feed_forward = residual(), residual(), residual()

    def causal(self, x_BTd: Tensor, allowed: Tensor | None) -> Tensor:
        """The cell on whole sequences; it is causal without a mask."""
        out: Tensor = self.cell(x_BTd)
        return out

    def causal_step(self, x_RQd: Tensor, cache: LayerCache, allowed: Tensor | None) -> Tensor:
        """The cell at the next Q positions; the cache's states move on."""
        assert isinstance(cache, RecurrentCache)
        return cache.advance(self.cell, x_RQd)

    def begin(self, memory_BSd: Tensor, shift_B: Tensor | None = None) -> RecurrentCache:
        """The cache before the first step; ``shift_B``: left padding of the prefixes."""
        return RecurrentCache(*self.cross_attention.keys_values(memory_BSd), shift_B)

    def describe(self) -> RecurrentDecoderLayerSpec:  # type: ignore[override]
        """The description that engines and exports read."""
        return RecurrentDecoderLayerSpec(
            cell=describe(self.cell, SSRUSpec),
            cross_attention=describe(self.cross_attention, AttentionSpec),
            feed_forward=describe(self.feed_forward, FeedForwardSpec),
            around_self=describe(self.around_self, ResidualSpec),
            around_cross=describe(self.around_cross, ResidualSpec),
            around_feed_forward=describe(self.around_feed_forward, ResidualSpec),
        )
