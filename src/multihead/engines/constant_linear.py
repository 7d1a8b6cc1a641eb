"""Linear layers laid out for search: in another format, several as one."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class ConstantLinear:
    """x W + b for one or several layers that read the same; a factor each is multiplied in."""

    weight: Tensor
    bias: Tensor | None

    @classmethod
    def of(cls, dtype: torch.dtype, *parts: nn.Linear, first: float = 1.0) -> "ConstantLinear":
        """Lay out these layers one beside the other.

        Args:
            dtype: of the matrices.
            parts: the layers.
            first: a factor of the first one's output.
        """
        factors = [first] + [1.0] * (len(parts) - 1)
        weight = torch.cat([part.weight * factor for part, factor in zip(parts, factors, strict=True)])
        bias = torch.cat([part.bias * factor for part, factor in zip(parts, factors, strict=True)])
        return cls(weight.detach().to(dtype), bias.detach().to(dtype))

    def __call__(self, x: Tensor) -> Tensor:
        """(..., d) to (..., e)."""
        return F.linear(x, self.weight, self.bias)
