"""The top-k entries of an output layer, screened in int8 (``native/screen.h``).

What it gains: the output layer is half of a decoder's arithmetic, and products of bytes take 0.6 of the time
of those of bf16. They tell for certain which few entries may be the largest; only these are multiplied in
full. Search is 1.08 to 1.1 times as fast. Tokens are compared exactly; the normaliser, and so a
log-probability, is off by some ten-thousandths, less than what rounding to bf16 moves it by.
"""

import torch
from torch import Tensor

from multihead import native
from multihead.engines.native.packed_linear import PackedLinear, in_bytes

LEAST = 256
"""With fewer outputs for each of the largest that are looked for, too many are multiplied twice."""
FASTER = {"avx512bf16": (torch.bfloat16,)}
"""At which level of processor products of bytes are so much faster than which others. Who asks for float32
asks for exact probabilities; on matrix registers, where bf16 is fast, it gains nothing (0.96x to 0.99x)."""


class Screen:
    """An output layer's matrix once in bytes and once row by row.

    Args:
        weight: (V, d).
        bias: (V,); None: none.
        dtype: what the weight is multiplied in: float32 or bfloat16.
    """

    NONE = (0,) * 7
    """The description of no screen."""

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        self._weight = weight.detach().to(dtype).contiguous()
        exact = self._weight.float()
        self._bytes = PackedLinear(exact, bias, torch.int8)
        number, scale = in_bytes(exact)
        near = number * scale
        # The largest norms, of a row of bytes and of what they make of a row amiss: never less than they are.
        self._norms = 1.0001 * torch.stack([part.norm(dim=1).max() for part in (near, exact - near)])
        self.description = native.integers(
            (*self._bytes.description, native.address(self._weight), native.address(self._norms))
        )
        """What the kernel is told: the bytes as a linear layer, the addresses of matrix and norms."""

    @staticmethod
    def pays(outputs: int, wanted: int, dtype: torch.dtype) -> bool:
        """Whether to look for so many of the largest of so many outputs in this way."""
        return dtype in FASTER.get(native.level(), ()) and outputs >= LEAST * wanted
