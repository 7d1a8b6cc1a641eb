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

from multihead.nn.kernels.hashed_attention import ITSELF, Round, attend
from multihead.nn.modules import Linear, all_linear
from multihead.nn.uncompiled import uncompiled


class LSHAttention(nn.Module):
    """softmax over the keys of the query's buckets, the union of several rounds (eq. 3 to 6).

    While no bucket is larger than a chunk, this is full attention with the buckets as a mask. A larger bucket
    is cut: a chunk sees only itself and its neighbours, and where it is cut depends on the whole text. So a
    causal step may then attend to other positions than the same place of a longer text does.

    Args:
        d_k: width of queries.
        buckets: number of buckets, even.
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
        self.rotations: Tensor
        self.register_buffer("rotations", torch.randn(rounds, d_k, buckets // 2))

    def hashes(self, q_BHNd: Tensor) -> Tensor:
        """argmax([x R; -x R]), the bucket of each vector in each round, (rounds, B, H, N)."""
        turned = q_BHNd.detach().to(self.rotations.dtype)[None] @ self.rotations[:, None, None]
        return torch.cat([turned, -turned], dim=-1).argmax(-1)

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The weights over the union of the buckets, (B, H, Q, K); the queries are the last positions."""
        Q, K = q.shape[2], k.shape[2]
        place = torch.arange(K, device=q.device)
        same = (self.hashes(q)[..., :, None] == self.hashes(k)[..., None, :]).any(0)
        if self.causal:
            same = same & (place <= place[K - Q :, None])
        if allowed is not None:
            same = same & allowed
        scores = (q @ _unit(k).mT) * q.shape[-1] ** -0.5
        scores = scores.masked_fill(place == place[K - Q :, None], ITSELF)
        found: Tensor = scores.masked_fill(~same, torch.finfo(scores.dtype).min).softmax(-1)
        return found

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


def _unit(k: Tensor) -> Tensor:
    return F.normalize(k, dim=-1)


# Not compiled: sorting gains nothing from it.
@uncompiled
def _hashed_attention(
    q: Tensor, v: Tensor, buckets_RBHN: Tensor, allowed: Tensor | None, chunk: int, causal: bool, p: float
) -> Tensor:
    """Attention by sorted chunks in every round, the rounds weighted by their sums of exponentials."""
    N = q.shape[2]
    chunk = min(chunk, N)
    extra = -N % chunk
    q, v = (F.pad(x, (0, 0, 0, extra)) for x in (q, v))
    real = torch.arange(N + extra, device=q.device) < N
    if allowed is not None:
        real = real & F.pad(allowed[:, 0, 0], (0, extra))
    # What is not there comes last, in a bucket of its own.
    nowhere = int(buckets_RBHN.max()) + 1 if buckets_RBHN.numel() else 0
    real_BHN = (real if real.dim() == 1 else real[:, None]).expand(q.shape[:3])
    buckets = F.pad(buckets_RBHN, (0, extra)).masked_fill(~real_BHN, nowhere)
    # Most of the time goes into comparing buckets, of which a byte can name 256.
    buckets = buckets.to(torch.uint8 if nowhere < 256 else torch.int32)
    outs, sums = zip(
        *(_round(q, v, buckets.roll(-one, 0), real_BHN, chunk, causal, p) for one in range(len(buckets))),
        strict=True,
    )
    shares = torch.stack(sums).softmax(0)[..., None]
    out: Tensor = (shares * torch.stack(outs)).sum(0)
    return out[:, :, :N].to(v.dtype)


def _round(
    q: Tensor, v: Tensor, buckets: Tensor, real: Tensor, chunk: int, causal: bool, p: float
) -> tuple[Tensor, Tensor]:
    """The first round's output, (B, H, N, d_v), and each query's log-sum of exponentials, (B, H, N)."""
    order = buckets[0].argsort(dim=-1, stable=True)

    def in_order(x: Tensor) -> Tensor:
        rows = order if x.dim() == 3 else order[..., None].expand(x.shape)
        return x.gather(2, rows).flatten(0, 1)

    queries = in_order(q)
    of = Round(
        buckets=torch.stack([in_order(each) for each in buckets]),
        places=order.flatten(0, 1),
        real=in_order(real),
        chunk=chunk,
        causal=causal,
        dropout=p,
    )
    # On a GPU, autocast computes norms in float32.
    keys = _unit(queries).to(queries.dtype)
    out, log_sum = attend(queries, keys, in_order(v), of)
    back = order.argsort(dim=-1)
    out, log_sum = out.view(*q.shape[:3], -1), log_sum.view(q.shape[:3])
    return out.gather(2, back[..., None].expand(out.shape)), log_sum.gather(2, back)


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
