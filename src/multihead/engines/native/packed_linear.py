"""x W^T + b with a matrix packed for the native kernels.

With the few rows of a decoding step, a library's products reach a tenth of the hardware's speed. These read
the matrix sequentially and sum in registers (``native/products.h``).
"""

from typing import NoReturn, Self

import torch
from torch import Tensor

from multihead import native
from multihead.engines.parts import stacked
from multihead.nn.description import LinearSpec
from multihead.nn.kernels.byte_products import PANEL


class PackedLinear:
    """A linear layer for inference, from float32 to float32.

    In bf16, inputs are rounded to bf16 if the processor multiplies it, and sums are in float32. In int8,
    weights are quantised from -127 to 127 with a scale per output, inputs with a scale per row, and sums are
    exact (Jacob et al. 2018, sec. 2.1, without zero points).

    Args:
        weight: (outputs, inputs).
        bias: (outputs,); None: no bias.
        dtype: format of the packed weight: float32, bfloat16 or int8.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        self.outputs, self.inputs = weight.shape
        self.dtype = dtype
        self._weight = packed(weight, dtype)
        self._bias = None if bias is None else bias.detach().float().contiguous()
        addresses = native.address(self._weight), native.address(self._bias)
        self.description = (*addresses, self.inputs, self.outputs, 0)
        """The kernels' arguments: addresses of weight and bias, inputs, outputs, no ReLU."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("a matrix packed for the native kernels cannot be copied: they hold its addresses")

    @classmethod
    def of(cls, dtype: torch.dtype, *parts: LinearSpec, first: float = 1.0) -> Self:
        """Stack layers of one input, and multiply the first one's output by a factor."""
        return cls(*stacked(*parts, first=first), dtype)

    def __call__(self, x_Md: Tensor) -> Tensor:
        """Apply the layer; (M, inputs) to (M, outputs), both in float32."""
        x_Md = x_Md.float().contiguous()
        out = torch.empty(len(x_Md), self.outputs, dtype=torch.float32)
        native.call("linear_shared", self.dtype, x_Md, self.description, out, len(x_Md))
        return out


def packed(weight_OI: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a weight as the native kernels read it (``native/products.h``), in panels of 64 outputs."""
    if dtype == torch.int8:
        return _packed_int8(weight_OI.detach().float())
    return _packed(weight_OI.detach().to(dtype))


def quantised(weight_OI: Tensor) -> tuple[Tensor, Tensor]:
    """Quantise to int8, from -127 to 127; return the numbers and the scale of each output, (O, 1)."""
    scale_O1 = weight_OI.abs().amax(1, keepdim=True) / 127
    return (weight_OI / scale_O1.where(scale_O1 > 0, 1.0)).round().to(torch.int8), scale_O1


def _packed_int8(weight_OI: Tensor) -> Tensor:
    """Pack in int8: panels of words of four inputs, the outputs' scales, and 128 times their sums."""
    bytes_OI, scale_O1 = quantised(weight_OI)
    offset_O1 = 128 * bytes_OI.sum(1, keepdim=True, dtype=torch.int32)
    words_PI64 = _packed(bytes_OI).view(torch.int32)[..., 0]
    ends = [_packed(end_O1)[..., 0].view(torch.int32) for end_O1 in (scale_O1, offset_O1)]
    return torch.cat([words_PI64, *ends], dim=1)


def _packed(weight_OI: Tensor) -> Tensor:
    """Pack into panels of 64 outputs, word by word; a word is one float32, two bf16 or four int8 inputs."""
    per_word = 4 // weight_OI.element_size()
    outputs, inputs = weight_OI.shape
    panels, words = -(-outputs // PANEL), -(-inputs // per_word)
    padded = weight_OI.new_zeros(panels * PANEL, words * per_word)
    padded[:outputs, :inputs] = weight_OI
    return padded.view(panels, PANEL, words, per_word).transpose(1, 2).contiguous()
