"""Reformer's attention: each position attends to those of its hash bucket (Kitaev et al. 2020, sec. 2).

Queries and keys are one projection ("shared-QK"), keys of length 1. Angular hashing by random rotations puts
similar vectors into one bucket; several rounds, each with rotations of its own, find what one misses. A round
sorts the positions by bucket and cuts them into chunks; a chunk attends to itself and its neighbour, so that
time and memory grow with n. No position attends to itself unless it has nothing else to attend to.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn.kernels.hashed_at_once import attend_at_once
from multihead.nn.kernels.hashed_attention import ITSELF, Round, attend
from multihead.nn.modules import Linear, all_linear
from multihead.nn.parts.uncompiled import exclude_from_compilation

MOST_AT_ONCE = 128
"""Most buckets that one hash chooses among."""

FASTER_AT_ONCE = 0.55
"""A text is attended to at once up to this share of the keys that a query has in the chunks of all rounds."""


class LSHAttention(nn.Module):
    """softmax over the keys of the query's buckets, the union of several rounds (eq. 3 to 6).

    While no bucket is larger than a chunk, this is full attention with the buckets as a mask. A larger bucket
    is cut: a chunk sees only itself and its neighbours, and where it is cut depends on the whole text. So a
    causal step may then attend to other positions than the same place of a longer text does.

    Args:
        d_k: width of queries.
        buckets: number of buckets, even; see :func:`factors_of`.
        rounds: number of hash rounds.
        chunk: positions of a chunk.
        causal: whether a position attends only to earlier ones (and itself).
        dropout: probability of dropping a weight.
    """

    keeps_order = True

    def __init__(
        self,
        d_k: int,
        *,
        buckets: int,
        rounds: int = 4,
        chunk: int = 64,
        causal: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        assert buckets % 2 == 0, "a rotation and its negative make two buckets"
        self.chunk, self.causal, self.dropout = chunk, causal, dropout
        self.factors = factors_of(buckets)
        self.rotations: Tensor
        self.register_buffer("rotations", torch.randn(rounds, d_k, sum(self.factors) // 2))

    def hashes(self, q_BHNd: Tensor) -> Tensor:
        """argmax([x R; -x R]), the bucket of each vector in each round, (rounds, B, H, N)."""
        x_BHNd = q_BHNd.detach().to(self.rotations.dtype)
        return torch.stack([self._bucket(x_BHNd @ rotation) for rotation in self.rotations])

    def _bucket(self, turned: Tensor) -> Tensor:
        """The bucket of vectors in one round, from their products with its rotations."""
        bucket = torch.zeros(turned.shape[:-1], dtype=torch.long, device=turned.device)
        halves = [factor // 2 for factor in self.factors]
        for half, part in zip(halves, torch.split(turned, halves, -1), strict=True):
            most, least = part.max(-1), part.min(-1)
            digit = torch.where(most.values >= -least.values, most.indices, least.indices + half)
            bucket = 2 * half * bucket + digit
        return bucket

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The weights over the union of the buckets, (B, H, Q, K); the queries are the last positions."""
        Q, K = q.shape[2], k.shape[2]
        place = torch.arange(K, device=q.device)
        same = (self.hashes(q)[..., :, None] == self.hashes(k)[..., None, :]).any(0)
        if self.causal:
            same = same & (place <= place[K - Q :, None])
        if allowed is not None:
            same = same & allowed
        scores = (q @ F.normalize(k, dim=-1).mT) * q.shape[-1] ** -0.5
        scores = scores.masked_fill(place == place[K - Q :, None], ITSELF)
        weights: Tensor = scores.masked_fill(~same, torch.finfo(scores.dtype).min).softmax(-1)
        return weights

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Attend; (B, H, Q, d_v).

        Args:
            q: queries, (B, H, Q, d): all positions, or the last Q of them, as in a cached step.
            k: keys, (B, H, K, d): the same vectors, of all positions.
            v: values, (B, H, K, d_v).
            allowed: mask of padding, (B, 1, 1, K); None: none.
        """
        p = self.dropout if self.training else 0.0
        if q.shape[2] != k.shape[2]:
            return self.weights(q, k, allowed).to(v.dtype) @ v
        return _hashed_attention(q, v, self.hashes(q), allowed, self.chunk, self.causal, p)


# Not compiled: sorting gains nothing from it.
@exclude_from_compilation
def _hashed_attention(
    q: Tensor, v: Tensor, buckets_RBHN: Tensor, allowed: Tensor | None, chunk: int, causal: bool, p: float
) -> Tensor:
    """Attention within chunks of sorted positions, the rounds weighted by their sums of exponentials."""
    rounds, *_, N = buckets_RBHN.shape
    chunk = min(chunk, N)
    real = torch.ones(N, dtype=torch.bool, device=q.device) if allowed is None else allowed[:, 0]
    real_BHN = real.expand(q.shape[:3])
    # What is not there comes last, in a bucket of its own.
    nowhere = int(buckets_RBHN.max()) + 1 if buckets_RBHN.numel() else 0
    buckets = buckets_RBHN.masked_fill(~real_BHN, nowhere)
    # Much of the time goes into comparing buckets.
    for kind in (torch.uint8, torch.int16, torch.int32):
        if nowhere <= torch.iinfo(kind).max:
            buckets = buckets.to(kind)
            break
    # On a GPU, autocast computes norms in float32.
    keys = F.normalize(q, dim=-1).to(q.dtype)
    if not p and FASTER_AT_ONCE * rounds * chunk * (2 if causal else 3) > N:
        return attend_at_once(q, keys, v, buckets, real_BHN, chunk, causal)
    extra = -N % chunk
    q, keys, v = (F.pad(x, (0, 0, 0, extra)) for x in (q, keys, v))
    buckets, real_BHN = F.pad(buckets, (0, extra), value=nowhere), F.pad(real_BHN, (0, extra))
    turns = [buckets.roll(-shift, 0) for shift in range(rounds)]
    outs, sums = zip(*(_round(q, keys, v, turn, real_BHN, chunk, causal, p) for turn in turns), strict=True)
    shares = torch.stack(sums).softmax(0)[..., None]
    out: Tensor = (shares * torch.stack(outs)).sum(0)
    return out[:, :, :N].to(v.dtype)


def _round(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    buckets: Tensor,
    real: Tensor,
    chunk: int,
    causal: bool,
    p: float,
) -> tuple[Tensor, Tensor]:
    """The first round's output, (B, H, N, d_v), and each query's log-sum of exponentials, (B, H, N)."""
    order = buckets[0].argsort(dim=-1, stable=True)

    B, H, N = order.shape
    heads_X1 = torch.arange(B * H, device=q.device)[:, None] * N

    def picked(x: Tensor, places_BHN: Tensor) -> Tensor:
        """The rows of x, (B, H, N, ...), of these places, (B H, N, ...)."""
        rows = (places_BHN.flatten(0, 1) + heads_X1).flatten()
        return x.flatten(0, 2).index_select(0, rows).view(B * H, N, *x.shape[3:])

    def in_order(x: Tensor) -> Tensor:
        return picked(x, order)

    of = Round(
        buckets=torch.stack([in_order(bucket) for bucket in buckets]),
        places=order.flatten(0, 1).to(torch.int32),
        real=in_order(real),
        chunk=chunk,
        causal=causal,
        dropout=p,
    )
    out, log_sum = attend(in_order(q), in_order(k), in_order(v), of)
    back = order.argsort(dim=-1)
    out, log_sum = (picked(x.view(B, H, N, *x.shape[2:]), back) for x in (out, log_sum))
    return out.view(B, H, N, -1), log_sum.view(B, H, N)


class ReformerAttention(nn.Module):
    """Multi-head LSH attention with one projection for queries and keys.

    Args:
        d_model: width of inputs and output.
        num_heads: number of heads.
        d_k: width of a head; default d_model / num_heads.
        buckets: number of buckets, even.
        rounds: number of hash rounds.
        chunk: positions of a chunk.
        causal: whether a position attends only to earlier ones (and itself).
        dropout: probability of dropping a weight.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_k: int | None = None,
        buckets: int,
        rounds: int = 4,
        chunk: int = 64,
        causal: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_k or d_model // num_heads
        self.w_qk, self.w_v = (Linear(d_model, num_heads * self.d_k) for _ in range(2))
        self.w_o = Linear(num_heads * self.d_k, d_model)
        self.score = LSHAttention(
            self.d_k, buckets=buckets, rounds=rounds, chunk=chunk, causal=causal, dropout=dropout
        )

    def forward(self, x_BQd: Tensor, memory_BKd: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Self-attention; (B, N, d_model); ``allowed``: mask of padding, (B, 1, 1, N).

        Args:
            x_BQd: input, (B, N, d_model).
            memory_BKd: the same tensor.
            allowed: mask of padding; None: none.
        """
        assert memory_BKd is x_BQd, "Reformer's attention is self-attention"
        k, v = self.keys_values(x_BQd)
        return self.attend(k, k, v, allowed)

    def queries(self, x_BQd: Tensor, start: int = 0) -> Tensor:
        """The heads' queries, (B, H, Q, d_k)."""
        return self._heads(self.w_qk(x_BQd))

    def keys_values(self, memory_BKd: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
        """The heads' keys, which are the queries, and values, (B, H, K, d_k) each."""
        k, v = all_linear(memory_BKd, self.w_qk, self.w_v)
        return self._heads(k), self._heads(v)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> Tensor:
        """Attend in every head, concatenate the heads, and project by W^O; (B, Q, d_model)."""
        mixed: Tensor = self.w_o(self.score(q, k, v, allowed).transpose(1, 2).flatten(2))
        return mixed

    def _heads(self, x_BNe: Tensor) -> Tensor:
        return x_BNe.view(*x_BNe.shape[:2], self.num_heads, self.d_k).transpose(1, 2)


def buckets_for(length: int, chunk: int) -> int:
    """The number of buckets whose mean size is half a chunk, even (sec. 2: chunks of m = 2 l / n_buckets)."""
    return 2 * max(1, math.ceil(length / chunk))


def factors_of(buckets: int) -> tuple[int, ...]:
    """Even factors of a number of buckets: the number itself or, if it is large, two of about its root.

    A bucket is then a pair of hashes, as in the authors' code (trax, ``n_buckets`` as a list). The number
    grows with n: with as many rotations, hashing would take time that grows with n^2.

    >>> factors_of(64), factors_of(512), factors_of(514)
    ((64,), (22, 24), (22, 24))
    """
    if buckets <= MOST_AT_ONCE:
        return (buckets,)
    first = 2 * round(math.sqrt(buckets) / 2)
    return first, 2 * math.ceil(buckets / first / 2)
