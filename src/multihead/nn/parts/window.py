"""Sliding-window attention, with dilation and global positions, in O(n r d) time and O(n d) memory.

"Self-attention (restricted)" of Vaswani et al. 2017, sec. 4 and Table 1; Beltagy et al. 2020, sec. 3.1.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn import ops
from multihead.nn.attention import attention_weights
from multihead.nn.description import ScoreSpec, WindowSpec, describe
from multihead.nn.kernels import window_attention as kernel


def band(queries: int, keys: int, window: WindowSpec, device: torch.device | None = None) -> Tensor:
    """True = may attend, (queries, keys): the window as a mask; the queries are the last of the positions."""
    query = torch.arange(keys - queries, keys, device=device)[:, None]
    key = torch.arange(keys, device=device)
    steps = key - query
    near = (steps >= -window.before * window.dilation) & (steps <= window.after * window.dilation)
    allowed = near & (steps % window.dilation == 0)
    for place in window.places:
        allowed |= (key == place) | (query == place)
    return allowed & (steps <= 0) if window.causal else allowed


def window_attention(
    q_BHNd: Tensor,
    k_BHNd: Tensor,
    v_BHNd: Tensor,
    window: WindowSpec,
    allowed: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Attention of each position to those in its window; (B, H, N, d_v).

    Equals ``attention`` with the mask :func:`band`, but computes no score outside it. A query without any
    allowed key gets 0.

    Args:
        q_BHNd: queries.
        k_BHNd: keys.
        v_BHNd: values.
        window: the window.
        allowed: True = may be attended to, (B or 1, 1, 1, N); None: every key.
        dropout: probability of dropping a weight.
    """
    out = local_attention(q_BHNd, k_BHNd, v_BHNd, window, allowed, dropout)
    if not window.places or not len(places := _places(window, q_BHNd)):
        return out
    if window.causal:
        earlier = torch.arange(q_BHNd.shape[2], device=places.device) <= places[:, None]
        allowed = earlier if allowed is None else earlier & allowed
    everywhere = ops.attention(q_BHNd[:, :, places], k_BHNd, v_BHNd, allowed, dropout)
    return out.index_copy(2, places, everywhere.to(out.dtype))


def local_attention(
    q_BHNd: Tensor,
    k_BHNd: Tensor,
    v_BHNd: Tensor,
    window: WindowSpec,
    allowed: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Attention of each position to its window and to the global positions, these being no exception.

    Arguments as of :func:`window_attention`.
    """
    B, H, N, _ = q_BHNd.shape
    D = min(window.dilation, max(N, 1))
    real = None if allowed is None else allowed[:, 0, 0]
    real_local, extra, extra_allowed = real, None, None
    if window.places and len(places := _places(window, q_BHNd)):
        # A global key is not in the window a second time.
        here = q_BHNd.new_ones(1, N, dtype=torch.bool) if real is None else real
        real_local = here.index_fill(1, places, False)
        extra = _repeat(k_BHNd[:, :, places], D), _repeat(v_BHNd[:, :, places], D)
        extra_allowed = _extra_mask(here[:, places], places, N, D, window)
    length = -(-N // D)
    if N % D:
        real_local = q_BHNd.new_ones(1, N, dtype=torch.bool) if real_local is None else real_local
        real_local = F.pad(real_local, (0, D * length - N))
    if real_local is not None:
        real_local = real_local.view(len(real_local), -1, D).transpose(1, 2)
    q, k, v = (_phases(x, D, length) for x in (q_BHNd, k_BHNd, v_BHNd))
    layout = kernel.WindowLayout(min(window.before, N), min(window.after, N), dropout)
    out = kernel.attend(q, k, v, layout, real_local, extra, extra_allowed)
    return out.view(B, H, D, length, -1).transpose(2, 3).reshape(B, H, D * length, -1)[:, :, :N]


def _places(window: WindowSpec, q_BHNd: Tensor) -> Tensor:
    """The global positions within the text, (G,)."""
    return torch.tensor([p for p in window.places if p < q_BHNd.shape[2]], dtype=torch.long).to(q_BHNd.device)


def _phases(x_BHNd: Tensor, D: int, length: int) -> Tensor:
    """Positions f, f + D, f + 2 D, ... side by side: (B H D, length, d), padded with 0."""
    B, H, N, d = x_BHNd.shape
    if D * length > N:
        x_BHNd = F.pad(x_BHNd, (0, 0, 0, D * length - N))
    return x_BHNd.reshape(B, H, length, D, d).transpose(2, 3).reshape(B * H * D, length, d)


def _repeat(x_BHGd: Tensor, D: int) -> Tensor:
    """The same rows for every phase, (B H D, G, d)."""
    B, H, G, d = x_BHGd.shape
    return x_BHGd[:, :, None].expand(B, H, D, G, d).reshape(B * H * D, G, d)


def _extra_mask(real_BG: Tensor, places: Tensor, N: int, D: int, window: WindowSpec) -> Tensor:
    """The mask of the global keys, (B or 1, D, length, G), or (B or 1, 1, 1, G) if order does not matter."""
    if not window.causal:
        return real_BG[:, None, None]
    length = -(-N // D)
    queries = torch.arange(D * length, device=places.device).view(length, D).T
    return real_BG[:, None, None] & (places <= queries[..., None])[None]


class WindowAttention(nn.Module):
    """Scaled dot-product attention of each position to ``before`` earlier and ``after`` later ones.

    The part keeps its own order: it needs no causal mask, only that of padding.

    Args:
        before: positions before its own that a position attends to.
        after: positions after it; 0: causal attention.
        dilation: distance between neighbouring positions of the window.
        places: global positions, which attend to every position and to which every one attends; those beyond
            the end of a text are left out.
        dropout: probability of dropping a weight.
    """

    keeps_order = True

    def __init__(
        self,
        before: int,
        after: int,
        *,
        dilation: int = 1,
        places: Sequence[int] = (),
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.window = WindowSpec(before, after, dilation, tuple(places))
        self.dropout = dropout

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The weights of every query over all keys, (B, H, Q, K); 0 outside the window."""
        return attention_weights(q, k, self._within(q, k, allowed))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Attend within the window; (B, H, Q, d_v).

        Args:
            q: queries, (B, H, Q, d): all positions, or the last Q of them, as in a cached step.
            k: keys, (B, H, K, d).
            v: values, (B, H, K, d_v).
            allowed: True = may attend, broadcastable to (B, H, Q, K); of whole sequences padding only,
                (B, 1, 1, K), takes the fast path.
        """
        p = self.dropout if self.training else 0.0
        if q.shape[2] == k.shape[2] and (allowed is None or allowed.shape[1:3] == (1, 1)):
            return window_attention(q, k, v, self.window, allowed, p)
        return ops.attention(q, k, v, self._within(q, k, allowed), p)

    def describe(self) -> ScoreSpec:
        """The description that engines and exports read."""
        return ScoreSpec("dot", scaled=True, window=self.window)

    def _within(self, q: Tensor, k: Tensor, allowed: Tensor | None) -> Tensor:
        return _within(self.window, q, k, allowed)


class WindowedScore(nn.Module):
    """Another score function restricted to a window by a mask, which saves no time.

    Inspection finds the weights at the score function itself.

    Args:
        score: the score function.
        before: see :class:`WindowAttention`.
        after: see :class:`WindowAttention`.
    """

    keeps_order = True

    def __init__(self, score: nn.Module, before: int, after: int) -> None:
        super().__init__()
        self.score, self.window = score, WindowSpec(before, after)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """As :meth:`WindowAttention.forward`."""
        out: Tensor = self.score(q, k, v, _within(self.window, q, k, allowed))
        return out

    def describe(self) -> ScoreSpec:
        """The description that engines and exports read."""
        return replace(describe(self.score, ScoreSpec), window=self.window)


def _within(window: WindowSpec, q: Tensor, k: Tensor, allowed: Tensor | None) -> Tensor:
    mask = band(q.shape[2], k.shape[2], window, q.device)
    return mask if allowed is None else mask & allowed
