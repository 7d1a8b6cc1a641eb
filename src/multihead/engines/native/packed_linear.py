"""x W^T + b with a matrix packed for the native kernels.

With the few rows of a decoding step, a library's products reach a tenth of the hardware's speed. These read
the matrix sequentially and sum in registers (``native/products.h``).
"""

from typing import NoReturn, Self

import numpy as np

from multihead.description import LinearSpec
from multihead.engines.native.parts import stack_layers
from multihead.system import native_library as native
from multihead.system.native_library import PANEL, Array, Format


class PackedLinear:
    """A linear layer for inference, from float32 to float32.

    In bf16, inputs are rounded to bf16 if the processor multiplies it, and sums are in float32. In int8,
    weights are quantised from -127 to 127 with a scale per output, inputs with a scale per row, and sums are
    exact (Jacob et al. 2018, sec. 2.1, without zero points).

    Args:
        weight: (outputs, inputs), float32.
        bias: (outputs,); None: no bias.
        number_format: the packed weight's format.
    """

    def __init__(self, weight: Array, bias: Array | None, number_format: Format) -> None:
        self.outputs, self.inputs = weight.shape
        self.number_format: Format = number_format
        self._weight = pack(weight, number_format)
        self._bias = None if bias is None else np.ascontiguousarray(bias, np.float32)
        addresses = native.array_address(self._weight), native.array_address(self._bias)
        self.description = (*addresses, self.inputs, self.outputs, 0)
        """The kernels' arguments: addresses of weight and bias, inputs, outputs, no ReLU."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("a matrix packed for the native kernels cannot be copied: they hold its addresses")

    @classmethod
    def of(cls, number_format: Format, *parts: LinearSpec, first: float = 1.0) -> Self:
        """Stack layers of one input, and multiply the first one's output by a factor."""
        return cls(*stack_layers(*parts, first=first), number_format)

    def __call__(self, x_Md: Array) -> Array:
        """Apply the layer; (M, inputs) to (M, outputs), both in float32."""
        x_Md = np.ascontiguousarray(x_Md, np.float32)
        out = np.empty((len(x_Md), self.outputs), np.float32)
        native.call("linear_shared", self.number_format, x_Md, self.description, out, len(x_Md))
        return out


def pack(weight_OI: Array, number_format: Format) -> Array:
    """Return a weight as the native kernels read it (``native/products.h``), in panels of 64 outputs."""
    if number_format == "int8":
        return _packed_int8(weight_OI)
    return _pack(to_bfloat16(weight_OI) if number_format == "bfloat16" else weight_OI)


def to_bfloat16(numbers: Array) -> Array:
    """Round float32 to the nearest bfloat16, ties to even; return its bits, uint16."""
    bits = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    rounded = ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype(np.uint16)
    return np.where(np.isnan(numbers), np.uint16(0x7FC0), rounded)


def from_bfloat16(bits: Array) -> Array:
    """Return bfloat16 bits as float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def quantise(weight_OI: Array) -> tuple[Array, Array]:
    """Quantise to int8, from -127 to 127; return the numbers and the scale of each output, (O, 1)."""
    scale_O1 = np.abs(weight_OI).max(1, keepdims=True) / np.float32(127)
    numbers = np.rint(weight_OI / np.where(scale_O1 > 0, scale_O1, np.float32(1)))
    with np.errstate(invalid="ignore"):  # diverged weights: search reports them with the step
        return numbers.astype(np.int8), scale_O1


def _packed_int8(weight_OI: Array) -> Array:
    """Pack in int8: panels of words of four inputs, the outputs' scales, and 128 times their sums."""
    bytes_OI, scale_O1 = quantise(weight_OI)
    offset_O1 = 128 * bytes_OI.sum(1, keepdims=True, dtype=np.int32)
    words_PI64 = _pack(bytes_OI).view(np.int32)[..., 0]
    ends = [_pack(end_O1)[..., 0].view(np.int32) for end_O1 in (scale_O1, offset_O1)]
    return np.concatenate([words_PI64, *ends], axis=1)


def _pack(weight_OI: Array) -> Array:
    """Pack into panels of 64 outputs, word by word; a word is one float32, two bf16 or four int8 inputs."""
    per_word = 4 // weight_OI.itemsize
    outputs, inputs = weight_OI.shape
    panels, words = -(-outputs // PANEL), -(-inputs // per_word)
    padded = np.zeros((panels * PANEL, words * per_word), weight_OI.dtype)
    padded[:outputs, :inputs] = weight_OI
    return np.ascontiguousarray(padded.reshape(panels, PANEL, words, per_word).swapaxes(1, 2))
