"""Reformer's attention to a short text: the scores of all pairs at once, weighted by where each pair meets.

The rounds' outputs, weighted by their sums of exponentials, are one softmax over all pairs that meet in some
round and chunk; a pair counts as often as it meets, divided by the number of rounds in which it shares a
bucket. So nothing is sorted, and no pair is computed once a round (Kitaev et al. 2020, appendix A).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from multihead.nn.kernels.hashed_attention import HIDDEN, ITSELF, as_bit


def attend_at_once(
    q: Tensor, k: Tensor, v: Tensor, buckets_RBHN: Tensor, real_BHN: Tensor, chunk: int, causal: bool
) -> Tensor:
    """Attend; (B, H, N, d_v).

    Args:
        q: queries, (B, H, N, d).
        k: keys, (B, H, N, d).
        v: values, (B, H, N, d_v).
        buckets_RBHN: each position's bucket in each round; padding in a last one.
        real_BHN: False at padding.
        chunk: positions of a chunk.
        causal: whether a position attends only to earlier ones (and itself).
    """
    bias = _log_counts(buckets_RBHN, real_BHN, chunk, causal, torch.promote_types(q.dtype, torch.float32))
    bias.diagonal(dim1=-2, dim2=-1).add_(ITSELF)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))


def _log_counts(buckets: Tensor, real: Tensor, chunk: int, causal: bool, dtype: torch.dtype) -> Tensor:
    """log(rounds in which a pair meets / rounds in which it shares a bucket), or ``HIDDEN``; (B, H, N, N)."""
    rounds, N = len(buckets), buckets.shape[-1]
    ranks = buckets.argsort(dim=-1, stable=True).argsort(dim=-1)
    chunks = (ranks // chunk).to(torch.uint8)
    shares = meets = torch.zeros((), dtype=torch.uint8, device=buckets.device)
    for bucket, place in zip(buckets, chunks, strict=True):
        differ = as_bit(bucket[..., :, None] ^ bucket[..., None, :])
        # How many chunks the key is behind the query; a byte wraps, so that a distance too far is large.
        behind = place[..., :, None] - place[..., None, :] + (0 if causal else 1)
        most = 1 if causal else 2
        far = behind.clamp_min_(most).sub_(most).clamp_max_(1)
        shares, meets = shares + differ, meets + differ.bitwise_or_(far)
    shares, meets = rounds - shares, rounds - meets
    hidden = (1 - meets.clamp(max=1)) | ~real[..., None, :]
    if causal:
        hidden |= torch.ones(N, N, dtype=torch.uint8, device=buckets.device).triu(1)
    # The least possible ratio in place of 0, whose logarithm is slow; it is hidden.
    ratio = meets.to(dtype).div_(shares.clamp_min_(1)).clamp_min_(1 / rounds)
    return ratio.log_().add_(hidden, alpha=HIDDEN)
