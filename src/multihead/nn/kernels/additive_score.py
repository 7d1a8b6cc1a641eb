"""The additive score v . tanh(q + k) and its gradients, without storing tanh (native, CPU).

Equation: Bahdanau et al. 2015, appendix A.1.2. tanh(q + k) is d times as large as the scores; plain PyTorch
writes or reads it eight times per update.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from multihead.system import native

WIDTH_MULTIPLE = 16
"""The kernel needs d to be a multiple of this."""
MAX_MAGNITUDE = 20.0
"""Largest |q| and |k|: e^2q e^2k must neither overflow nor underflow."""


class _Additive(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q_BHQd: Tensor, k_BHKd: Tensor, v_d: Tensor) -> Tensor:
        q, k, v = map(_wide, (q_BHQd, k_BHKd, v_d))
        q, k = (q + q).exp(), (k + k).exp()
        scores = q.new_empty((*q.shape[:-1], k.shape[-2]))
        native.call("additive", torch.float32, _describe(q, k, v), scores)
        ctx.save_for_backward(q, k, v)
        ctx.inputs = q_BHQd.dtype, k_BHKd.dtype, v_d.dtype, len(v_d)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        q, k, v = ctx.saved_tensors
        *dtypes, d = ctx.inputs
        gradients = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        g = gradient.float().contiguous()
        native.call("additive_backward", torch.float32, _describe(q, k, v), g, *gradients)
        return tuple(x[..., :d].to(dtype) for x, dtype in zip(gradients, dtypes, strict=True))


def _wide(x: Tensor) -> Tensor:
    return F.pad(x.float(), (0, -x.shape[-1] % WIDTH_MULTIPLE)).contiguous()


def _describe(q: Tensor, k: Tensor, v: Tensor) -> tuple[int, ...]:
    return *map(native.tensor_address, (q, k, v)), q.shape[:-2].numel(), q.shape[-2], *k.shape[-2:]


def additive_scores(q_BHQd: Tensor, k_BHKd: Tensor, v_d: Tensor) -> Tensor:
    """The score of each query with each key, (B, H, Q, K)."""
    if not _suits(q_BHQd, k_BHKd, v_d):
        return (q_BHQd[..., :, None, :] + k_BHKd[..., None, :, :]).tanh() @ v_d
    scores: Tensor = _Additive.apply(q_BHQd, k_BHKd, v_d)  # type: ignore[no-untyped-call]
    return scores.to(q_BHQd.dtype)


def _suits(q: Tensor, k: Tensor, v: Tensor) -> bool:
    return (
        all(map(native.suits, (q, k, v)))
        and q.shape[:-2] == k.shape[:-2]
        and min(q.numel(), k.numel()) > 0
        and all(bool(x.detach().abs().max() <= MAX_MAGNITUDE) for x in (q, k))  # False for NaN too
    )
