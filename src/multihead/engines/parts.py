"""Parts of a laid-out model: constant copies of a description's weights, cast once."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from multihead.nn.description import AttentionSpec, EmbeddingSpec, EncoderDecoderSpec, LinearSpec, NormSpec
from multihead.nn.modules import LayerNorm


@dataclass(frozen=True, slots=True)
class ConstantLinear:
    """x W^T + b of one layer, or of several stacked layers that read the same x."""

    weight: Tensor
    bias: Tensor | None

    @classmethod
    def of(cls, dtype: torch.dtype, *parts: LinearSpec, first: float = 1.0) -> "ConstantLinear":
        """Stack layers of one input, and multiply the first one's output by a factor.

        Args:
            dtype: the matrices' format.
            parts: the layers.
            first: the factor.
        """
        weight, bias = stack_layers(*parts, first=first)
        return cls(weight.to(dtype), None if bias is None else bias.to(dtype))

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the layer; (..., d) to (..., e)."""
        return F.linear(x, self.weight, self.bias)


def stack_layers(*parts: LinearSpec, first: float = 1.0) -> tuple[Tensor, Tensor | None]:
    """The layers' weights and biases stacked, the first layer's multiplied by a factor."""
    factors = [first, *(1.0 for _ in parts[1:])]
    weight = torch.cat([part.weight.detach() * factor for part, factor in zip(parts, factors, strict=True)])
    if all(part.bias is None for part in parts):
        return weight, None
    biases = [part.weight.new_zeros(len(part.weight)) if part.bias is None else part.bias for part in parts]
    return weight, torch.cat([bias.detach() * factor for bias, factor in zip(biases, factors, strict=True)])


def keys_of_every_head(attention: AttentionSpec) -> tuple[LinearSpec, LinearSpec]:
    """W^K and W^V with the rows of a shared key/value head repeated for each query head of its group.

    For an engine without grouped-query attention. The result is exact, and its keys and values take as much
    memory as without groups.
    """
    group = attention.heads // attention.kv_heads

    def repeated(part: LinearSpec) -> LinearSpec:
        def of(rows: Tensor) -> Tensor:
            by_head = rows.view(attention.kv_heads, -1, *rows.shape[1:])
            return by_head.repeat_interleave(group, dim=0).flatten(0, 1)

        return LinearSpec(of(part.weight), None if part.bias is None else of(part.bias))

    if group == 1:
        return attention.w_k, attention.w_v
    return repeated(attention.w_k), repeated(attention.w_v)


def constant_norm(spec: NormSpec) -> LayerNorm:
    """Return a layer norm with a copy of these weights, without gradients."""
    norm = LayerNorm(len(spec.weight)).to(spec.weight.device).requires_grad_(False)
    norm.weight.copy_(spec.weight)
    norm.bias.copy_(spec.bias)
    norm.eps = spec.epsilon
    return norm


def scaled_embedding(spec: EmbeddingSpec, dtype: torch.dtype) -> Tensor:
    """scale * weight, (V, d)."""
    scaled: Tensor = (spec.weight.detach() * spec.scale).to(dtype)
    return scaled


def target_embedding(spec: EncoderDecoderSpec, dtype: torch.dtype) -> tuple[Tensor, int | None]:
    """The scaled target embeddings, (V, d), and the row of the first input; None: the begin symbol's row.

    If the first input is zero, row V holds it.
    """
    table_Vd = scaled_embedding(spec.target, dtype)
    if spec.first_input == "begin":
        return table_Vd, None
    return F.pad(table_Vd, (0, 0, 0, 1)), len(table_Vd)
