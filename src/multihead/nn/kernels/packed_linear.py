"""x W^T + b with a matrix that was laid out beforehand for the native kernels.

What it gains: at the few rows of a decoding step, the library's products reach a tenth of the hardware's
speed; these read a matrix from front to back and sum in registers (``native/products.h``).
"""

from typing import Self

import torch
from torch import Tensor, nn

from multihead import native

PANEL = 64
"""Outputs beside each other (``native/products.h``)."""


class PackedLinear:
    """A linear layer for reading only, from float32 to float32.

    With a weight in bf16, inputs are rounded to bf16 too where the processor multiplies it; sums are in
    float32.

    Args:
        weight: (outputs, inputs), in float32 or bf16.
        bias: (outputs,); None: none.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.outputs, self.inputs = weight.shape
        self.dtype = weight.dtype
        self._weight = _packed(weight.detach())
        self._bias = None if bias is None else bias.detach().float().contiguous()
        address = 0 if self._bias is None else self._bias.data_ptr()
        self.description = (self._weight.data_ptr(), address, self.inputs, self.outputs)
        """What native kernels are told: the addresses of weight and bias, inputs, outputs."""

    @classmethod
    def of(cls, dtype: torch.dtype, *parts: nn.Linear, first: float = 1.0) -> Self:
        """One product for several layers that read the same; the first of them is multiplied by a factor."""
        factors = [first] + [1.0] * (len(parts) - 1)
        weight = torch.cat([part.weight * factor for part, factor in zip(parts, factors, strict=True)])
        bias = torch.cat([part.bias * factor for part, factor in zip(parts, factors, strict=True)])
        return cls(weight.to(dtype), bias)

    def __call__(self, x_Md: Tensor) -> Tensor:
        """(M, inputs) to (M, outputs), both in float32."""
        x_Md = x_Md.float().contiguous()
        out = torch.empty(len(x_Md), self.outputs)
        native.call("linear", self.dtype, x_Md, self.description, out, len(x_Md))
        return out


def _packed(weight_OI: Tensor) -> Tensor:
    """Panels of 64 outputs, in each input by input; in bf16 two inputs stand together."""
    together = 2 if weight_OI.dtype == torch.bfloat16 else 1
    outputs, inputs = weight_OI.shape
    panels, words = -(-outputs // PANEL), -(-inputs // together)
    padded = weight_OI.new_zeros(panels * PANEL, words * together)
    padded[:outputs, :inputs] = weight_OI
    return padded.view(panels, PANEL, words, together).transpose(1, 2).contiguous()
