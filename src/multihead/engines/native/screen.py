"""The top-k of an output layer, screened in int8 (``native/screen.h``).

The output layer is half of a decoder's arithmetic, and int8 products take 0.6 of the time of bf16 products.
Their error bounds prove which few entries can be in the top k; only these are computed in full. Search is
1.08 to 1.1 times as fast. The top-k is exact. The normaliser, and so a log-probability, is off by some 1e-4,
less than the rounding error of bf16.
"""

import torch
from torch import Tensor

from multihead import native
from multihead.engines.native.packed_linear import PackedLinear, quantised

OUTPUTS_PER_K = 256
"""Fewest outputs per entry of the top-k; with fewer, too many are computed twice."""
FASTER = {"avx512bf16": (torch.bfloat16,)}
"""Formats that int8 screening speeds up, by processor level. With float32, every logit is exact. On matrix
registers (AMX), where bf16 is fast, screening gains nothing (0.96x to 0.99x)."""


class Screen:
    """An output layer's matrix, packed in int8 for screening and kept row by row for exact logits.

    Args:
        weight: (V, d).
        bias: (V,); None: no bias.
        dtype: format of the exact products: float32 or bfloat16.
    """

    NONE = (0,) * 7
    """The kernel's arguments without a screen."""

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        self._weight = weight.detach().to(dtype).contiguous()
        exact = self._weight.float()
        self._bytes = PackedLinear(exact, bias, torch.int8)
        number, scale = quantised(exact)
        approximate = number * scale
        # Upper bounds of the rows' norms: of the quantised weights, and of their quantisation errors.
        bounds = [part.norm(dim=1).max() for part in (approximate, exact - approximate)]
        self._norms = 1.0001 * torch.stack(bounds)
        self.description = native.integers(
            (*self._bytes.description, native.address(self._weight), native.address(self._norms))
        )
        """The kernel's arguments: the int8 linear layer, and the addresses of matrix and norms."""

    @staticmethod
    def pays(outputs: int, k: int, dtype: torch.dtype) -> bool:
        """Return whether screening pays off for the top-k of this many outputs."""
        return dtype in FASTER.get(native.level(), ()) and outputs >= OUTPUTS_PER_K * k
