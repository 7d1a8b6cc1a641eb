"""softmax(QK^T / sqrt(d_k) + bias) V for few queries and many keys, as in a search step (GPU, Triton).

Equation: Vaswani et al. 2017, eq. 1; no gradient. One program per head and sentence reads the keys once
(Milakov and Gimelshein 2018; Dao et al. 2022, algorithm 1). Imported only if Triton is available.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor, inf
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

MAX_QUERIES = 16
"""Most queries."""
MAX_HEAD_WIDTH = 128
"""Widest head."""
KEYS = 32
"""Keys per iteration."""


@triton.jit(do_not_specialize=("count", "bias_q"))  # type: ignore[untyped-decorator]
def _step_attention(  # type: ignore[no-untyped-def]
    q,
    q_b,
    q_h,
    q_n,
    k,
    k_b,
    k_h,
    k_n,
    v,
    v_b,
    v_h,
    v_n,
    o,
    o_b,
    o_h,
    o_n,
    bias,
    bias_b,
    bias_q,
    scale,
    Q: tl.constexpr,
    count,
    d_k: tl.constexpr,
    d_v: tl.constexpr,
    heads,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_V: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    b, h = program // heads, program % heads
    i, j = tl.arange(0, BLOCK_Q), tl.arange(0, BLOCK_K)
    c, e = tl.arange(0, BLOCK_D), tl.arange(0, BLOCK_V)
    real_q = (i[:, None] < Q) & (c[None, :] < d_k)
    queries = tl.load(q + b * q_b + h * q_h + i[:, None] * q_n + c[None, :], mask=real_q, other=0.0)
    highest = tl.full((BLOCK_Q,), float("-inf"), tl.float32)
    mass = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_V), tl.float32)
    first = 0
    while first < count:
        n = first + j
        real_k, real_v = (n[:, None] < count) & (c[None, :] < d_k), (n[:, None] < count) & (e[None, :] < d_v)
        keys = tl.load(k + b * k_b + h * k_h + n[:, None] * k_n + c[None, :], mask=real_k, other=0.0)
        values = tl.load(v + b * v_b + h * v_h + n[:, None] * v_n + e[None, :], mask=real_v, other=0.0)
        inside = (i[:, None] < Q) & (n[None, :] < count)
        mask = tl.load(
            bias + b * bias_b + i[:, None] * bias_q + n[None, :], mask=inside, other=float("-inf")
        ).to(tl.float32)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale + mask
        higher = tl.maximum(highest, tl.max(scores, axis=1))
        # In a row without a visible key so far, -inf - -inf would be NaN.
        safe = tl.where(higher == float("-inf"), 0.0, higher)
        p = tl.exp(scores - safe[:, None])
        decay = tl.exp(highest - safe)
        mass = mass * decay + tl.sum(p, axis=1)
        out = out * decay[:, None] + tl.dot(p.to(values.dtype), values, input_precision="ieee")
        highest = higher
        first += BLOCK_K
    out = out / tl.where(mass == 0.0, 1.0, mass)[:, None]
    real_o = (i[:, None] < Q) & (e[None, :] < d_v)
    tl.store(o + b * o_b + h * o_h + i[:, None] * o_n + e[None, :], out.to(o.dtype.element_ty), mask=real_o)


def suits(q_BHQd: Tensor, v_BHKd: Tensor) -> bool:
    """Return whether :func:`attend` accepts these: few queries, narrow heads."""
    return q_BHQd.shape[2] <= MAX_QUERIES and max(q_BHQd.shape[3], v_BHKd.shape[3]) <= MAX_HEAD_WIDTH


def attend(q_BHQd: Tensor, k_BHKd: Tensor, v_BHKd: Tensor, bias_BQK: Tensor) -> Tensor:
    """Attend, (B, H, Q, d_v); the last axis of every argument must have stride 1.

    Args:
        q_BHQd: queries.
        k_BHKd: keys.
        v_BHKd: values.
        bias_BQK: added to the scores, (B, Q or 1, K).
    """
    (B, heads, Q, d_k), (count, d_v) = q_BHQd.shape, v_BHKd.shape[2:]
    out = q_BHQd.new_empty(B, Q, heads, d_v).transpose(1, 2)
    strided = [part for x in (q_BHQd, k_BHKd, v_BHKd, out) for part in (x, *x.stride()[:3])]
    bias = bias_BQK.expand(B, Q, count)
    _step_attention[(B * heads,)](
        *strided,
        bias,
        bias.stride(0),
        bias.stride(1),
        d_k**-0.5,
        Q,
        count,
        d_k,
        d_v,
        heads,
        BLOCK_Q=16,
        BLOCK_K=KEYS,
        BLOCK_D=max(16, triton.next_power_of_2(d_k)),
        BLOCK_V=max(16, triton.next_power_of_2(d_v)),
        num_warps=1,
    )
    return out


def prove(device: torch.device) -> None:
    """Compare an example with the equation; see ``multihead.system.gpu``."""
    q, k, v = (torch.randn(2, 3, n, 32, device=device) for n in (5, 48, 48))
    hidden_BQK = torch.rand(2, 5, 48, device=device) < 0.5
    hidden_BQK[..., 40] = False
    bias_BQK = torch.zeros(2, 5, 48, device=device).masked_fill_(hidden_BQK, -inf)
    expected = scaled_dot_product_attention(q, k, v, attn_mask=bias_BQK[:, None])
    assert_close(attend(q, k, v, bias_BQK), expected, atol=1e-3, rtol=1e-3)
