"""Sanity of stored numbers: finite, and of a size that training can have produced."""

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multihead.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

LARGEST = float(np.finfo(np.float32).max) ** 0.5
"""About 1.8e19. The square of a larger weight is infinite in float32, so no norm of it is a number, and no
training can have continued with it. A weight whose highest exponent bit is flipped is larger."""


def check_numbers(
    tensors: "Mapping[str, Tensor | np.ndarray[Any, Any]]",
    place: Path | str = "",
    largest: float = LARGEST,
    buffers: Collection[str] = (),
) -> None:
    """Refuse tensors with NaN, infinity or absurdly large numbers.

    One pass over the tensors, without temporary memory.

    Args:
        tensors: PyTorch's or NumPy's, by name.
        place: the file, for the error message.
        largest: bound on the magnitude; infinity allows all that is finite.
        buffers: names of tensors that may also hold infinity, as a mask of a layer does.

    Raises:
        UserError: the first such tensor is named.
    """
    for name in sorted(tensors):
        tensor = tensors[name]
        for bound in _bounds(tensor):
            if math.isinf(bound) and name in buffers:
                continue
            if not math.isfinite(bound) or abs(bound) > largest:
                raise UserError(
                    f"{name} holds {bound:.3g}, which no training writes", place=str(place) or None
                )


def _bounds(tensor: "Tensor | np.ndarray[Any, Any]") -> tuple[float, ...]:
    """Return minimum and maximum, NaN if there is one; nothing of integers or of an empty tensor."""
    if isinstance(tensor, np.ndarray):
        return (float(tensor.min()), float(tensor.max())) if tensor.dtype.kind == "f" and tensor.size else ()
    return tuple(map(float, tensor.aminmax())) if tensor.is_floating_point() and tensor.numel() else ()
