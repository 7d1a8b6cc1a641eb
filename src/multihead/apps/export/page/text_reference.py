"""A language model computed from its description alone, as the page does."""

import torch
import torch.nn.functional as F
from torch import Tensor

from multihead.engines.parts import keys_of_every_head
from multihead.nn import masks
from multihead.nn.description import AttentionSpec, CausalSpec, LinearSpec, NormSpec, ResidualSpec, StackSpec
from multihead.nn.feed_forward import ACTIVATIONS

TOLERANCE = 1e-3
"""Tolerance of logits relative to their range; rounding in float32 causes about 1e-6."""


@torch.inference_mode()
def disagreement(model: torch.nn.Module, described: CausalSpec, vocabulary: int) -> str | None:
    """Return the difference between a model and its description on an example; None: they agree."""
    length = min(53, described.context)
    ids_T = torch.arange(length) * 7919 % vocabulary
    return difference(model(ids_T[None])[0].float(), logits(described, ids_T))


def difference(expected: Tensor, computed: Tensor) -> str | None:
    """Return the difference of computed logits from expected ones if it exceeds ``TOLERANCE``."""
    if not bool(expected.isfinite().all()):
        return "its scores are not finite"
    spread = float(expected.max() - expected.min()) or 1.0
    worst = float((expected - computed).abs().max()) / spread
    if worst <= TOLERANCE:
        return None
    return (
        f"logits differ by {worst:.1e} of their range: a layer computes something that it does not describe"
    )


def logits(described: CausalSpec, ids_T: Tensor) -> Tensor:
    """Return the logits after each token, (T, V), for at most ``context`` tokens."""
    T = len(ids_T)
    x_Td = F.embedding(ids_T, described.embedding.weight) * described.embedding.scale
    table = described.positions.encodings(T)
    if table is not None:
        x_Td = x_Td + table[:T]
    return linear(described.output, encode(described.stack, x_Td, masks.causal(T).view(T, T)))


def encode(stack: StackSpec, x_Td: Tensor, allowed_TT: Tensor) -> Tensor:
    """Return the output of a stack of encoder layers, (T, d)."""
    for layer in stack.layers:
        attention, network = layer.self_attention, layer.feed_forward
        inputs_Td = _before(layer.around_attention, x_Td)
        x_Td = _after(layer.around_attention, x_Td + _attend(attention, inputs_Td, allowed_TT))
        inner = ACTIVATIONS[network.activation](linear(network.w_1, _before(layer.around_feed_forward, x_Td)))
        x_Td = _after(layer.around_feed_forward, x_Td + linear(network.w_2, inner))
    return norm(stack.norm, x_Td)


def _attend(spec: AttentionSpec, x_Td: Tensor, allowed_TT: Tensor) -> Tensor:
    keys, values = keys_of_every_head(spec)
    q, k, v = (linear(part, x_Td).view(len(x_Td), spec.heads, -1) for part in (spec.w_q, keys, values))
    scores_HTT = spec.scale * torch.einsum("qhd,khd->hqk", q, k)
    weights_HTT = scores_HTT.masked_fill(~allowed_TT, -torch.inf).softmax(-1)
    return linear(spec.w_o, torch.einsum("hqk,khd->qhd", weights_HTT, v).flatten(1))


def linear(spec: LinearSpec, x: Tensor) -> Tensor:
    """x W^T + b."""
    return F.linear(x, spec.weight, spec.bias)


def norm(spec: NormSpec | None, x: Tensor) -> Tensor:
    """The layer norm of x; x itself without a norm."""
    return x if spec is None else F.layer_norm(x, x.shape[-1:], spec.weight, spec.bias, spec.epsilon)


def _before(spec: ResidualSpec, x: Tensor) -> Tensor:
    return norm(spec.norm, x) if spec.kind == "pre" else x


def _after(spec: ResidualSpec, x: Tensor) -> Tensor:
    return x if spec.kind == "pre" else norm(spec.norm, x)
