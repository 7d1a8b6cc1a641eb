"""The log-normaliser and the top-k of rows of logits, in one kernel (GPU, Triton).

Equation: log sum exp, and the same entries as ``search.distribution.largest``. A row stays in registers and
is read once; PyTorch's dozen kernels would read it a dozen times. Imported only if Triton is available.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor, inf
from torch.testing import assert_close

MAX_VOCABULARY = 1 << 15
"""Longest row."""
MAX_K = 16
"""Largest k: the kernel finds the entries one after the other."""


@triton.jit  # type: ignore[untyped-decorator]
def _best(  # type: ignore[no-untyped-def]
    logits,
    banned,
    normaliser,
    ends,
    values,
    tokens,
    end_id,
    V: tl.constexpr,
    K: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    inside = c < V
    x = tl.load(logits + row * V + c, mask=inside, other=float("-inf")).to(tl.float32)
    highest = tl.max(x, axis=0)
    tl.store(normaliser + row, tl.log(tl.sum(tl.exp(x - highest), axis=0)) + highest)
    tl.store(ends + row, tl.load(logits + row * V + end_id).to(tl.float32))
    x = tl.where(tl.load(banned + c, mask=inside, other=1) != 0, float("-inf"), x)
    for k in tl.static_range(K):
        value, token = tl.max(x, axis=0, return_indices=True)
        tl.store(values + row * K + k, value)
        tl.store(tokens + row * K + k, token.to(tl.int64))
        x = tl.where(c == token, float("-inf"), x)


def suits(logits_RV: Tensor, k: int) -> bool:
    """Return whether :func:`best` accepts these."""
    V = logits_RV.shape[1]
    return V <= MAX_VOCABULARY and k <= min(MAX_K, V) and logits_RV.is_contiguous()


def best(logits_RV: Tensor, banned_V: Tensor, end_id: int, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Each row's log-normaliser (R,), logit of ``end_id`` (R,), and top-k logits and tokens, both (R, k).

    Args:
        logits_RV: the scores.
        banned_V: True for tokens that are excluded from the top-k, though not from the normaliser.
        end_id: the end symbol.
        k: number of entries.
    """
    R, V = logits_RV.shape
    normaliser_R, ends_R = torch.empty(2, R, dtype=torch.float32, device=logits_RV.device)
    values_RK = torch.empty(R, k, dtype=torch.float32, device=logits_RV.device)
    tokens_RK = torch.empty(R, k, dtype=torch.long, device=logits_RV.device)
    block = triton.next_power_of_2(V)
    _best[(R,)](
        logits_RV,
        banned_V.view(torch.uint8),
        normaliser_R,
        ends_R,
        values_RK,
        tokens_RK,
        end_id,
        V=V,
        K=k,
        BLOCK=block,
        num_warps=max(4, min(16, block // 1024)),
    )
    return normaliser_R, ends_R, values_RK, tokens_RK


def prove(device: torch.device) -> None:
    """Compare an example with the equation; see ``multihead.system.gpu``."""
    logits_RV = torch.randn(5, 67, device=device)
    banned_V = torch.arange(67, device=device) == 3
    normaliser_R, ends_R, values_RK, tokens_RK = best(logits_RV, banned_V, 2, 5)
    expected = logits_RV.masked_fill(banned_V, -inf).topk(5, dim=1)
    assert_close((normaliser_R, ends_R), (logits_RV.logsumexp(1), logits_RV[:, 2]))
    assert_close((values_RK, tokens_RK), (expected.values, expected.indices))
