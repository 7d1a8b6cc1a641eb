"""The operations of attention models: each is its equation in PyTorch and one line that calls a kernel.

The kernels of ``nn.kernels`` compute the same functions faster; each is tested against its equation here.
``native.use("")`` switches the native kernels off: every operation on a CPU is then its equation.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.nn.kernels import (
    activations,
    byte_dropout,
    gpu_linear,
    residual,
    short_attention,
    stacked_linear,
)
from multihead.nn.kernels import lookup as lookups
from multihead.system import native
from multihead.system.gpu import kernel

Layer = tuple[Tensor, Tensor | None]
"""A linear layer's weight (e, d) and bias (e,)."""


def has_kernels(x: Tensor) -> bool:
    """Return whether x's device has kernels: native ones on a CPU, Triton's or PyTorch's on a GPU."""
    return native.ON or x.device.type != "cpu"


def masked_softmax(scores_BHQK: Tensor, allowed: Tensor | None = None) -> Tensor:
    """Softmax over the allowed keys; the others get 0, in a row without any allowed key all. Same shape.

    Raises:
        UserError: the mask is not boolean.
    """
    if allowed is None:
        return scores_BHQK.softmax(dim=-1)
    _refuse_numbers(allowed)
    # The smallest finite number instead of -inf: a row without any allowed key must not become NaN.
    hidden = ~allowed
    scores_BHQK = scores_BHQK.masked_fill(hidden, torch.finfo(scores_BHQK.dtype).min)
    return scores_BHQK.softmax(dim=-1).masked_fill(hidden, 0.0)


def _refuse_numbers(allowed: Tensor) -> None:
    """Raise ``UserError`` for a mask of numbers, which mean different things in different libraries."""
    if allowed.dtype != torch.bool:
        raise UserError(
            f"the attention mask is {str(allowed.dtype).removeprefix('torch.')}, but must be boolean",
            place="allowed",
            remedy="True = may attend: pass mask == 0 for one of 0 and -inf, mask != 0 for one of 1 and 0.",
        )


def attention(
    q_BHQd: Tensor, k_BHKd: Tensor, v_BHKd: Tensor, allowed: Tensor | None = None, dropout: float = 0.0
) -> Tensor:
    """Dropout(softmax(QK^T / sqrt(d_k))) V (Vaswani et al. 2017, eq. 1), (B, H, Q, d_v).

    Args:
        q_BHQd: queries.
        k_BHKd: keys, as wide as the queries.
        v_BHKd: values, d_v wide.
        allowed: True = may attend, broadcastable to (B, H, Q, K); None: everything. A query without any
            allowed key gets 0.
        dropout: probability of dropping a weight.

    Raises:
        UserError: the mask is not boolean.
    """
    if allowed is not None:
        _refuse_numbers(allowed)
    fused = _fused_attention(q_BHQd, k_BHKd, v_BHKd, allowed, dropout) if has_kernels(q_BHQd) else None
    if fused is not None:
        return fused
    # Scaling the queries costs d_k multiplications per query; scaling the scores would cost K.
    scores_BHQK = (q_BHQd * (1 / math.sqrt(q_BHQd.shape[-1]))) @ k_BHKd.mT
    return _dropout(masked_softmax(scores_BHQK, allowed), dropout) @ v_BHKd


def _fused_attention(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, p: float) -> Tensor | None:
    if q.device.type == "cpu":
        # PyTorch's masked attention on a CPU is several times slower than two products, for sentences.
        suits = short_attention.suits(q, k, v, allowed)
        return short_attention.attend(q, k, v, allowed, p) if suits else None
    triton = None if p else kernel("nn.kernels.triton_attention", q, k, v)
    if triton is not None and triton.suits(q, k, v, allowed):
        out: Tensor = triton.attend(q, k, v, allowed)
        return out
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, dropout_p=p)


def linear(x: Tensor, *layers: Layer, with_relu: bool = False) -> tuple[Tensor, ...]:
    """x W^T + b, or max(0, x W^T + b), of every layer that reads x: (..., d) to (..., e) each."""
    if _has_fast_products(x) and (products := stacked_linear.products_for(x, layers)) is not None:
        return stacked_linear.stacked_linear(x, layers, products, with_relu=with_relu)
    outs = tuple(_linear(x, weight_ed, bias_e) for weight_ed, bias_e in layers)
    return tuple(map(relu, outs)) if with_relu else outs


def _linear(x: Tensor, weight_ed: Tensor, bias_e: Tensor | None) -> Tensor:
    if x.is_cuda and bias_e is not None and gpu_linear.suits(x, weight_ed, bias_e):
        return gpu_linear.linear(x, weight_ed, bias_e)
    return F.linear(x, weight_ed, bias_e)


def _has_fast_products(x: Tensor) -> bool:
    """Return whether stacking layers can pay off: in int8 by native kernels, in bf16 by oneDNN."""
    return native.ON or x.dtype == torch.bfloat16 or torch.is_autocast_enabled("cpu")


def relu(x: Tensor) -> Tensor:
    """max(0, x); any shape."""
    return activations.relu(x) if native.ON and native.suits(x) else F.relu(x)


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU as the published GPT approximates it, see ``kernels.activations``; any shape."""
    return activations.gelu_tanh(x) if native.ON and native.suits(x) else F.gelu(x, approximate="tanh")


def dropout(x: Tensor, p: float) -> Tensor:
    """x * m / (1 - p) with m ~ Bernoulli(1 - p) (Srivastava et al. 2014); x itself if p is 0.

    On a CPU, p is rounded to a multiple of 1/256, so that one random byte decides an element: drawing whole
    numbers would cost more than a small layer's arithmetic.
    """
    if not p:
        return x
    return byte_dropout.byte_dropout(x, p) if x.device.type == "cpu" else torch.dropout(x, p, train=True)


_dropout = dropout  # for functions with an argument of that name


def layer_norm(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    """gamma (x - mean) / sqrt(variance + epsilon) + beta over the last axis (Ba et al. 2016, eq. 4)."""
    if has_kernels(x) and (out := residual.layer_norm(x, norm)) is not None:
        return out
    return F.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def residual_norm(x: Tensor, y: Tensor, norm: nn.Module, p: float) -> Tensor:
    """Norm(x + Dropout(y)); x and y of one shape, the norm over the last axis."""
    if has_kernels(x) and (out := residual.residual_norm(x, y, norm, p)) is not None:
        return out
    normed: Tensor = norm(x + dropout(y, p))
    return normed


def residual_sum(x: Tensor, y: Tensor, p: float) -> Tensor:
    """x + Dropout(y); x and y of one shape."""
    if has_kernels(x) and (out := residual.residual_sum(x, y, p)) is not None:
        return out
    return x + dropout(y, p)


def lookup(weight_Vd: Tensor, ids: Tensor, scale: float) -> Tensor:
    """scale * weight[ids], (..., d), in autocast's format if that is on (Vaswani et al. 2017, sec. 3.4).

    Raises:
        IndexError: an id is out of range.
    """
    device = weight_Vd.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight_Vd.dtype
    if native.ON and lookups.suits(weight_Vd, dtype):
        return lookups.lookup(weight_Vd, ids, scale, dtype)
    return (F.embedding(ids, weight_Vd) * scale).to(dtype)
