"""Attention within a window, block by block, in O(n r d) time and O(n d) memory, forward and backward.

Equation: Vaswani et al. 2017, eq. 1, over the keys of a window (sec. 4; Beltagy et al. 2020, sec. 3.1). A
block of queries meets only the slice of keys that its windows cover, so no score outside it is computed. The
backward pass recomputes the weights from each query's log-sum of exponentials (Dao et al. 2022, app. B.2), so
that only queries, keys, values and outputs are kept.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead.nn.parts.uncompiled import exclude_from_compilation
from multihead.system.gpu import kernel

BLOCK = 64
"""Fewest queries of a block; more if the window is wide, up to ``WIDEST``."""
WIDEST = 256
SMALLEST = -80.0
"""exp(-80) is 2e-35, a weight without effect beside the largest, 1."""


@dataclass(frozen=True)
class WindowLayout:
    """The window of a query, and dropout.

    Attributes:
        before: keys before the query's own position.
        after: keys after it; 0: causal attention.
        dropout: probability of dropping a weight.
    """

    before: int
    after: int
    dropout: float = 0.0

    def block(self) -> int:
        """The number of queries in a block."""
        return min(max(BLOCK, (self.before + self.after) // 2), WIDEST)


class _Window(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        extra_k: Tensor | None,
        extra_v: Tensor | None,
        allowed: Tensor | None,
        extra_allowed: Tensor | None,
        layout: WindowLayout,
    ) -> Tensor:
        ctx.layout = layout
        ctx.seed = int(torch.randint(2**62, (1,))) if layout.dropout else 0
        out, lse = q.new_empty(*q.shape[:2], v.shape[2]), q.new_empty(q.shape[:2], dtype=_wide(q))
        with torch.autocast(q.device.type, enabled=False):
            for block in _Blocks(ctx, q, k, v, extra_k, extra_v, allowed, extra_allowed):
                s = block.scores()
                top = s.amax(-1, keepdim=True)
                p = exponentials(s.sub_(top.clamp_min(torch.finfo(s.dtype).min / 2)))
                # A query without any key gets 0, and sends no gradient back.
                total = p.sum(-1, keepdim=True).masked_fill_(top == -math.inf, math.inf)
                lse[:, block.rows] = torch.where(total < math.inf, total.log() + top, math.inf)[..., 0]
                p.div_(total)
                factors = block.keep()
                block.write_output(out, p if factors is None else p.mul_(factors))
        ctx.save_for_backward(q, k, v, extra_k, extra_v, allowed, extra_allowed, out, lse)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, extra_k, extra_v, allowed, extra_allowed, out, lse = ctx.saved_tensors
        gradient = gradient.contiguous()
        # Sums over blocks are made in float32 at least.
        dq, dk, dv = torch.empty_like(q), *(x.new_zeros(x.shape, dtype=_wide(x)) for x in (k, v))
        extra = [None if x is None else x.new_zeros(x.shape, dtype=_wide(x)) for x in (extra_k, extra_v)]
        with torch.autocast(q.device.type, enabled=False):
            delta = (gradient * out).sum(-1, keepdim=True, dtype=_wide(q))
            for block in _Blocks(ctx, q, k, v, extra_k, extra_v, allowed, extra_allowed):
                p = exponentials(block.scores().sub_(lse[:, block.rows, None]))
                g = gradient[:, block.rows]
                factors = block.keep()
                block.add_values(dv, extra[1], p if factors is None else p * factors, g)
                ds = block.against_values(g)
                if factors is not None:
                    ds.mul_(factors)
                ds.sub_(delta[:, block.rows]).mul_(p).mul_(block.scale)
                block.write_queries(dq, ds)
                block.add_keys(dk, extra[0], ds)
        gradients = [None if x is None else x.to(q.dtype) for x in (dk, dv, *extra)]
        return dq, *gradients, None, None, None


def exponentials(differences: Tensor) -> Tensor:
    """exp(x) of numbers of at most 0, in place; of numbers below ``SMALLEST`` as of that.

    Denormal results and infinite arguments take a processor up to ten times as long.
    """
    return differences.clamp_min_(SMALLEST).exp_()


def _wide(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


class _Blocks:
    """The blocks of queries in order; a pass over them draws the same dropout masks each time."""

    def __init__(
        self,
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        extra_k: Tensor | None,
        extra_v: Tensor | None,
        allowed: Tensor | None,
        extra_allowed: Tensor | None,
    ) -> None:
        self.layout, self.q, self.k, self.v = ctx.layout, q, k, v
        self.extra_k, self.extra_v = extra_k, extra_v
        self.allowed, self.extra_allowed = allowed, extra_allowed
        self.generator = None
        if self.layout.dropout:
            self.generator = torch.Generator(q.device).manual_seed(ctx.seed)
        self.size = self.layout.block()
        reach = torch.arange(self.size + self.layout.before + self.layout.after, device=q.device)
        diagonal = torch.arange(self.size, device=q.device)[:, None] + self.layout.before
        # Of a whole block: row i sees columns i to i + before + after of its slice.
        self.outside = ((reach < diagonal - self.layout.before) | (reach > diagonal + self.layout.after))[
            None
        ]

    def __iter__(self) -> Any:
        for start in range(0, self.q.shape[1], self.size):
            yield _Block(self, start)


class _Block:
    """A block of queries, and the slice of keys that their windows cover.

    Shapes: X rows (sentence, head and phase of a dilated window), c queries, w keys of the slice, and G extra
    keys, whose columns follow.
    """

    def __init__(self, of: _Blocks, start: int) -> None:
        self.of = of
        N, layout = of.q.shape[1], of.layout
        self.rows = slice(start, min(start + of.size, N))
        first = max(0, start - layout.before)
        self.keys = slice(first, min(self.rows.stop + layout.after, N))
        shift = first - (start - layout.before)
        self.outside = of.outside[
            :, : self.rows.stop - start, shift : shift + self.keys.stop - self.keys.start
        ]
        self.width = self.keys.stop - self.keys.start
        self.scale = of.q.shape[2] ** -0.5

    def scores(self) -> Tensor:
        """Scaled scores, (X, c, w + G), -infinity outside the window and at padding; in float32 at least."""
        of = self.of
        q = of.q[:, self.rows] * self.scale
        s = _float(q @ of.k[:, self.keys].mT).masked_fill_(self.outside, -math.inf)
        if of.allowed is not None:
            s = _mask(s, of.allowed[..., None, self.keys])
        if of.extra_k is None:
            return s
        extra = _float(q @ of.extra_k.mT)
        if of.extra_allowed is not None:
            rows = self.rows if of.extra_allowed.shape[-2] > 1 else slice(None)
            extra = _mask(extra, of.extra_allowed[..., rows, :])
        return torch.cat([s, extra], dim=-1)

    def keep(self) -> Tensor | None:
        """Dropout's factors of the weights, 0 or 1 / (1 - p); None: no dropout. Call it once a pass."""
        of = self.of
        if of.generator is None:
            return None
        columns = self.width + (0 if of.extra_k is None else of.extra_k.shape[1])
        shape = (len(of.q), self.rows.stop - self.rows.start, columns)
        factors = torch.empty(shape, dtype=_wide(of.q), device=of.q.device)
        share = 1 - of.layout.dropout
        return factors.bernoulli_(share, generator=of.generator).div_(share)

    def write_output(self, out: Tensor, p: Tensor) -> None:
        p = p.to(self.of.v.dtype)
        heads = p[..., : self.width] @ self.of.v[:, self.keys]
        if self.of.extra_v is not None:
            heads.baddbmm_(p[..., self.width :], self.of.extra_v)
        out[:, self.rows] = heads

    def against_values(self, gradient: Tensor) -> Tensor:
        """The weights' gradients before dropout's factors, (X, c, w + G)."""
        ds = _float(gradient @ self.of.v[:, self.keys].mT)
        return ds if self.of.extra_v is None else torch.cat([ds, _float(gradient @ self.of.extra_v.mT)], -1)

    def write_queries(self, dq: Tensor, ds: Tensor) -> None:
        ds = ds.to(self.of.k.dtype)
        gradient = ds[..., : self.width] @ self.of.k[:, self.keys]
        if self.of.extra_k is not None:
            gradient.baddbmm_(ds[..., self.width :], self.of.extra_k)
        dq[:, self.rows] = gradient

    def add_keys(self, dk: Tensor, extra: Tensor | None, ds: Tensor) -> None:
        self._add(dk, extra, ds, self.of.q[:, self.rows])

    def add_values(self, dv: Tensor, extra: Tensor | None, p: Tensor, gradient: Tensor) -> None:
        self._add(dv, extra, p, gradient)

    def _add(self, into: Tensor, extra: Tensor | None, weights: Tensor, vectors: Tensor) -> None:
        vectors = vectors.to(into.dtype)
        into[:, self.keys].baddbmm_(weights[..., : self.width].mT, vectors)
        if extra is not None:
            extra.baddbmm_(weights[..., self.width :].mT, vectors)


def _float(scores: Tensor) -> Tensor:
    return scores if scores.dtype == torch.float64 else scores.float()


def _mask(scores_XQK: Tensor, allowed: Tensor) -> Tensor:
    """Set scores to -infinity where a mask (B, D, 1 or c, K) forbids; X = B H D."""
    B, D = allowed.shape[:2]
    view = scores_XQK.view(B if B > 1 else 1, -1, D, *scores_XQK.shape[1:])
    return view.masked_fill_(~allowed[:, None], -math.inf).view(scores_XQK.shape)


# Not compiled: it is a loop over blocks already.
@exclude_from_compilation
def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layout: WindowLayout,
    allowed: Tensor | None = None,
    extra: tuple[Tensor, Tensor] | None = None,
    extra_allowed: Tensor | None = None,
) -> Tensor:
    """Attention of each query to the keys of its window, and to extra keys; (X, N, d_v).

    A query without any allowed key gets 0.

    Args:
        q: queries, (X, N, d); X = B H D rows, D phases of a dilated window.
        k: keys, (X, N, d).
        v: values, (X, N, d_v).
        layout: the window, and dropout.
        allowed: True = may be attended to, (B or 1, D or 1, N); None: every key.
        extra: keys (X, G, d) and values (X, G, d_v) for every query, beside those of its window.
        extra_allowed: (B or 1, D or 1, N or 1, G); None: every extra key for every query.
    """
    triton = kernel("nn.kernels.triton_window", q, k, v)
    if triton is not None and triton.suits(q, v):
        out: Tensor = triton.attend(
            q, k, v, layout.before, layout.after, layout.dropout, allowed, extra, extra_allowed
        )
        return out
    return _in_blocks(q, k, v, layout, allowed, extra, extra_allowed)


def _in_blocks(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layout: WindowLayout,
    allowed: Tensor | None,
    extra: tuple[Tensor, Tensor] | None,
    extra_allowed: Tensor | None,
) -> Tensor:
    extra_k, extra_v = extra or (None, None)
    out: Tensor = _Window.apply(q, k, v, extra_k, extra_v, allowed, extra_allowed, layout)  # type: ignore[no-untyped-call]
    return out
