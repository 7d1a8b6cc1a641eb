"""x W^T + b with a matrix that was laid out beforehand for the native kernels.

What it gains: at the few rows of a decoding step, the library's products reach a tenth of the hardware's
speed; these read a matrix from front to back and sum in registers (``native/products.h``).
"""

from typing import NoReturn, Self

import torch
from torch import Tensor

from multihead import native
from multihead.engines.parts import stacked
from multihead.nn.description import LinearSpec
from multihead.nn.kernels.byte_products import PANEL


class PackedLinear:
    """A linear layer for reading only, from float32 to float32.

    With a weight in bf16, inputs are rounded to bf16 too where the processor multiplies it; sums are in
    float32. In int8, a weight is a whole number from -127 to 127 times a scale of its output, an input one
    times a scale of its row, and sums are exact (Jacob et al. 2018, sec. 2.1, without zero points).

    Args:
        weight: (outputs, inputs).
        bias: (outputs,); None: none.
        dtype: what the weight is stored in: float32, bfloat16 or int8.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        self.outputs, self.inputs = weight.shape
        self.dtype = dtype
        pack = _packed_bytes if dtype == torch.int8 else _packed
        self._weight = pack(weight.detach().to(torch.float32 if dtype == torch.int8 else dtype))
        self._bias = None if bias is None else bias.detach().float().contiguous()
        addresses = native.address(self._weight), native.address(self._bias)
        self.description = (*addresses, self.inputs, self.outputs, 0)
        """What native kernels are told: addresses of weight and bias, inputs, outputs, no ReLU."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("laid out for the native kernels, which know its addresses: it cannot be copied")

    @classmethod
    def of(cls, dtype: torch.dtype, *parts: LinearSpec, first: float = 1.0) -> Self:
        """One product for several layers of one input, the output of the first times a factor."""
        return cls(*stacked(*parts, first=first), dtype)

    def __call__(self, x_Md: Tensor) -> Tensor:
        """(M, inputs) to (M, outputs), both in float32."""
        x_Md = x_Md.float().contiguous()
        out = torch.empty(len(x_Md), self.outputs, dtype=torch.float32)
        native.call("linear_shared", self.dtype, x_Md, self.description, out, len(x_Md))
        return out


def in_bytes(weight_OI: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers from -127 to 127, int8, and for each output the scale that they are times, (O, 1)."""
    scale_O1 = weight_OI.abs().amax(1, keepdim=True) / 127
    return (weight_OI / scale_O1.where(scale_O1 > 0, 1.0)).round().to(torch.int8), scale_O1


def _packed_bytes(weight_OI: Tensor) -> Tensor:
    """Panels as words: four inputs' bytes together; each output's scale; 128 times the sum of its bytes."""
    bytes_OI, scale_O1 = in_bytes(weight_OI)
    offset_O1 = 128 * bytes_OI.sum(1, keepdim=True, dtype=torch.int32)
    words_PI64 = _packed(bytes_OI).view(torch.int32)[..., 0]
    ends = [_packed(end_O1)[..., 0].view(torch.int32) for end_O1 in (scale_O1, offset_O1)]
    return torch.cat([words_PI64, *ends], dim=1)


def _packed(weight_OI: Tensor) -> Tensor:
    """Panels of 64 outputs, in each input by input; two inputs stand together in bf16, four in int8."""
    together = 4 // weight_OI.element_size()
    outputs, inputs = weight_OI.shape
    panels, words = -(-outputs // PANEL), -(-inputs // together)
    padded = weight_OI.new_zeros(panels * PANEL, words * together)
    padded[:outputs, :inputs] = weight_OI
    return padded.view(panels, PANEL, words, together).transpose(1, 2).contiguous()
