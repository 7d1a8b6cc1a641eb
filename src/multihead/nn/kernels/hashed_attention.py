"""Attention of sorted positions to their chunk and its neighbours, chunk by chunk, forward and backward.

Equations: Kitaev et al. 2020, sec. 2 and appendix A, for one round of hashing. Only a chunk's scores exist
at a time; the backward pass recomputes the weights from each query's log-sum of exponentials.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead.nn.kernels.window_attention import exponentials

ITSELF = -1e5
"""Score of a position with itself (sec. 2, "Causal masking for shared-QK attention")."""
HIDDEN = -1e9
"""Added to the score of a position that is not attended to."""


@dataclass(frozen=True)
class Round:
    """One round: positions in the order of their buckets. X rows: sentences and heads.

    Attributes:
        buckets: every round's bucket of each position, (R, X, N), this round's first.
        places: each position's place in the text, (X, N).
        real: False at padding, (X, N).
        chunk: positions of a chunk, a divisor of N.
        causal: whether a position attends only to earlier places (and itself).
        dropout: probability of dropping a weight.
    """

    buckets: Tensor
    places: Tensor
    real: Tensor
    chunk: int
    causal: bool
    dropout: float

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        """Yield each chunk's positions and those of its keys: the chunks beside it; if causal, before it."""
        N, chunk = self.places.shape[1], self.chunk
        for start in range(0, N, chunk):
            last = start + chunk if self.causal else min(N, start + 2 * chunk)
            yield slice(start, start + chunk), slice(max(0, start - chunk), last)

    def scores(self, q: Tensor, k: Tensor, rows: slice, keys: slice) -> tuple[Tensor, Tensor]:
        """A chunk's scores, (X, c, w), in float32 at least, and in how many rounds each pair meets, or 1.

        A pair that does not meet in this round has ``HIDDEN`` added to its score.
        """
        s = (q[:, rows] * q.shape[-1] ** -0.5) @ k[:, keys].mT
        s = s if s.dtype == torch.float64 else s.float()
        itself(s, rows, keys).fill_(ITSELF)
        # Bytes of 0 and 1: comparisons of broadcast tensors, and masked_fill, which branches at every score,
        # took half of the time.
        differ, *others = (as_bit(bucket[:, rows, None] ^ bucket[:, None, keys]) for bucket in self.buckets)
        times = len(self.buckets) - sum(others, start=differ)
        hidden = differ | ~self.real[:, None, keys]
        if self.causal:
            hidden |= as_bit(self.places[:, None, keys] - self.places[:, rows, None])
        return s.add_(hidden, alpha=HIDDEN), times.clamp_min_(1)


def as_bit(x: Tensor) -> Tensor:
    """1 where a number is positive, else 0, as bytes; in place."""
    return x.clamp_(0, 1).to(torch.uint8)


def itself(scores: Tensor, rows: slice, keys: slice) -> Tensor:
    """View of the scores (X, c, w) of positions with themselves; rows and keys are in one sorted order."""
    return scores.diagonal(rows.start - keys.start, dim1=1, dim2=2)


def add_product(to: Tensor, weights: Tensor, x: Tensor) -> None:
    """Add W^T x, computed in the format of x; ``to`` (X, w, d), weights (X, c, w), x (X, c, d)."""
    to.add_(weights.to(x.dtype).mT @ x)


class _HashedRound(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, of: Round) -> tuple[Tensor, Tensor]:
        ctx.of, ctx.seed = of, int(torch.randint(2**62, (1,))) if of.dropout else 0
        out = torch.empty_like(v)
        lse = q.new_empty(q.shape[:2], dtype=torch.promote_types(q.dtype, torch.float32))
        keep = _Keep(ctx, q)
        with torch.autocast(q.device.type, enabled=False):
            for rows, keys in of.blocks():
                s, times = of.scores(q, k, rows, keys)
                top = s.amax(-1, keepdim=True)
                p = exponentials(s.sub_(top)).div_(times)
                total = p.sum(-1, keepdim=True)
                lse[:, rows] = (total.log() + top)[..., 0]
                out[:, rows] = keep(p.div_(total)).to(v.dtype) @ v[:, keys]
        ctx.save_for_backward(q, k, v, out, lse)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        of, (g, g_lse) = ctx.of, gradients
        dq, dk, dv = torch.empty_like(q), *(x.new_zeros(x.shape, dtype=lse.dtype) for x in (k, v))
        keep = _Keep(ctx, q)
        with torch.autocast(q.device.type, enabled=False):
            # What a query's scores lose alike, and what the sum of exponentials sends back.
            common = (g * out).sum(-1, dtype=lse.dtype) - g_lse
            for rows, keys in of.blocks():
                s, times = of.scores(q, k, rows, keys)
                p = exponentials(s.sub_(lse[:, rows, None])).div_(times)
                factors = keep.factors(p)
                ds = (g[:, rows] @ v[:, keys].mT).to(lse.dtype)
                add_product(dv[:, keys], p if factors is None else p * factors, g[:, rows])
                ds = ds if factors is None else ds.mul_(factors)
                ds.sub_(common[:, rows, None]).mul_(p).mul_(q.shape[-1] ** -0.5)
                itself(ds, rows, keys).zero_()
                ds = ds.to(k.dtype)
                dq[:, rows] = ds @ k[:, keys]
                add_product(dk[:, keys], ds, q[:, rows])
        return dq, dk.to(k.dtype), dv.to(v.dtype), None


class _Keep:
    """Dropout's factors, 0 or 1 / (1 - p), the same in every pass."""

    def __init__(self, ctx: Any, q: Tensor) -> None:
        self.p = ctx.of.dropout
        self.generator = torch.Generator(q.device).manual_seed(ctx.seed) if self.p else None

    def factors(self, weights: Tensor) -> Tensor | None:
        """Draw the factors of a chunk's weights; None: no dropout."""
        if self.generator is None:
            return None
        mask = torch.empty_like(weights).bernoulli_(1 - self.p, generator=self.generator)
        return mask.div_(1 - self.p)

    def __call__(self, weights: Tensor) -> Tensor:
        factors = self.factors(weights)
        return weights if factors is None else weights.mul_(factors)


def attend(q: Tensor, k: Tensor, v: Tensor, of: Round) -> tuple[Tensor, Tensor]:
    """Return one round's outputs, (X, N, d_v), and each query's log-sum of exponentials, (X, N).

    Args:
        q: sorted queries, (X, N, d).
        k: their keys.
        v: their values, (X, N, d_v).
        of: the round.
    """
    out, lse = _HashedRound.apply(q, k, v, of)  # type: ignore[no-untyped-call]
    return out, lse
