"""Sanity of stored numbers: finite, and of a size that training can have produced."""

import math
from collections.abc import Collection, Mapping
from pathlib import Path

import torch
from torch import Tensor

from multihead.errors import UserError

LARGEST = torch.finfo(torch.float32).max ** 0.5
"""About 1.8e19. The square of a larger weight is infinite in float32, so no norm of it is a number, and no
training can have continued with it. A weight whose highest exponent bit is flipped is larger."""


def check_numbers(
    tensors: Mapping[str, Tensor],
    place: Path | str = "",
    largest: float = LARGEST,
    buffers: Collection[str] = (),
) -> None:
    """Refuse tensors with NaN, infinity or absurdly large numbers.

    One pass over the tensors, without temporary memory.

    Args:
        tensors: by name.
        place: the file, for the error message.
        largest: bound on the magnitude; infinity allows all that is finite.
        buffers: names of tensors that may also hold infinity, as a mask of a layer does.

    Raises:
        UserError: the first such tensor is named.
    """
    for name in sorted(tensors):
        tensor = tensors[name]
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        for bound in map(float, torch.aminmax(tensor)):  # NaN where there is one
            if math.isinf(bound) and name in buffers:
                continue
            if not math.isfinite(bound) or abs(bound) > largest:
                raise UserError(
                    f"{name} holds {bound:.3g}, which no training writes", place=str(place) or None
                )
