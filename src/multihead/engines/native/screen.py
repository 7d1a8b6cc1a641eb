"""The top-k of an output layer, screened in int8 (``native/screen.h``).

The output layer is half of a decoder's arithmetic, and int8 products take 0.6 of the time of bf16 products.
Their error bounds prove which few entries can be in the top k; only these are computed in full. Search is
1.08 to 1.1 times as fast. The top-k is exact. The normaliser, and so a log-probability, is off by some 1e-4,
less than the rounding error of bf16.
"""

import numpy as np

from multihead.engines.native.packed_linear import PackedLinear, from_bfloat16, quantise, to_bfloat16
from multihead.system import native_library as native
from multihead.system.native_library import Array, Format

OUTPUTS_PER_K = 256
"""Fewest outputs per entry of the top-k; with fewer, too many are computed twice."""
FASTER: dict[str, tuple[Format, ...]] = {"avx512bf16": ("bfloat16",)}
"""Formats that int8 screening speeds up, by processor level. With float32, every logit is exact. On matrix
registers (AMX), where bf16 is fast, screening gains nothing (0.96x to 0.99x)."""


class Screen:
    """An output layer's matrix, packed in int8 for screening and kept row by row for exact logits.

    Args:
        weight: (V, d).
        bias: (V,); None: no bias.
        number_format: the format of the exact products, float32 or bfloat16.
    """

    NONE = (0,) * 7
    """The kernel's arguments without a screen."""

    def __init__(self, weight: Array, bias: Array | None, number_format: Format) -> None:
        rounded = number_format == "bfloat16"
        self._weight = to_bfloat16(weight) if rounded else np.ascontiguousarray(weight)
        exact = from_bfloat16(self._weight) if rounded else self._weight
        self._bytes = PackedLinear(exact, bias, "int8")
        number, scale = quantise(exact)
        approximate = number * scale
        # Upper bounds of the rows' norms: of the quantised weights, and of their quantisation errors.
        bounds = [np.linalg.norm(part, axis=1).max() for part in (approximate, exact - approximate)]
        self._norms = np.array(bounds, np.float32) * np.float32(1.0001)
        self.description = native.integers(
            (*self._bytes.description, native.array_address(self._weight), native.array_address(self._norms))
        )
        """The kernel's arguments: the int8 linear layer, and the addresses of matrix and norms."""

    @staticmethod
    def pays(outputs: int, k: int, number_format: Format) -> bool:
        """Return whether screening pays off for the top-k of this many outputs."""
        return number_format in FASTER.get(native.level(), ()) and outputs >= OUTPUTS_PER_K * k
