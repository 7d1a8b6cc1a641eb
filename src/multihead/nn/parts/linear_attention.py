"""Linear attention, phi(Q) (phi(K)^T V) with phi(x) = elu(x) + 1, in O(n d^2) (Katharopoulos et al. 2020).

The weights are phi(q) . phi(k), divided by their sum (eq. 4 and 5), instead of a softmax. Causal attention
(eq. 9 to 12) is computed by chunks: all earlier chunks through the sum of their phi(k) v^T, a chunk itself
with a mask.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn.description import WindowSpec
from multihead.nn.parts.window import band

CHUNK = 64


def feature_map(x: Tensor) -> Tensor:
    """phi(x) = elu(x) + 1 (eq. 7), in float32 at least: sums run over the whole text."""
    x = x if x.dtype == torch.float64 else x.float()
    return F.elu(x) + 1


class LinearAttention(nn.Module):
    """Attention whose weights are products of feature maps, in linear time.

    Args:
        causal: whether a position attends only to itself and earlier ones.
    """

    keeps_order = True

    def __init__(self, *, causal: bool) -> None:
        super().__init__()
        self.causal = causal

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The weights, (B, H, Q, K); rows sum to 1. If causal, the queries are the last of the positions."""
        scores = feature_map(q) @ feature_map(k).mT
        if self.causal:
            earlier = band(q.shape[2], k.shape[2], WindowSpec(before=k.shape[2], after=0), q.device)
            allowed = earlier if allowed is None else earlier & allowed
        if allowed is not None:
            scores = scores * allowed
        return scores / _divisor(scores.sum(-1, keepdim=True))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Attend; (B, H, Q, d_v).

        Args:
            q: queries, (B, H, Q, d); if causal, all positions, or the last Q, as in a cached step.
            k: keys, (B, H, K, d).
            v: values, (B, H, K, d_v).
            allowed: mask of padding, (B, 1, 1, K); None: none.
        """
        if self.causal and q.shape[2] != k.shape[2]:
            return self.weights(q, k, allowed).to(v.dtype) @ v
        with torch.autocast(q.device.type, enabled=False):
            phi_q, phi_k, wide = (
                feature_map(q),
                feature_map(k),
                v.to(torch.promote_types(v.dtype, torch.float32)),
            )
            if allowed is not None:
                phi_k = phi_k * allowed.mT
            # The divisor is the same sum with 1 for a value.
            with_one = F.pad(wide, (0, 1), value=1.0)
            sums = _causal(phi_q, phi_k, with_one) if self.causal else phi_q @ (phi_k.mT @ with_one)
            return (sums[..., :-1] / _divisor(sums[..., -1:])).to(v.dtype)


def _divisor(sums: Tensor) -> Tensor:
    """The sums, or 1 for a query without any key."""
    return sums.masked_fill(sums == 0, 1.0)


def _causal(q_BHNd: Tensor, k_BHNd: Tensor, v_BHNd: Tensor) -> Tensor:
    """sum over j <= i of (q_i . k_j) v_j, (B, H, N, d_v)."""
    N = q_BHNd.shape[2]
    chunk = min(CHUNK, N)
    q, k, v = (_chunks(F.pad(x, (0, 0, 0, -N % chunk)), chunk) for x in (q_BHNd, k_BHNd, v_BHNd))
    state = k.mT @ v
    earlier = state.cumsum(2) - state
    within = (q @ k.mT).tril() @ v
    sums: Tensor = (q @ earlier + within).flatten(2, 3)[:, :, :N]
    return sums


def _chunks(x_BHNd: Tensor, chunk: int) -> Tensor:
    B, H, N, d = x_BHNd.shape
    return x_BHNd.reshape(B, H, N // chunk, chunk, d)
