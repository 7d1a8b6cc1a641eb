"""Comparison of a reader's output with the package's."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Function = Callable[..., Any]
"""A reader's answer."""
Check = Callable[[Function], str | None]
"""Returns the fault of an answer in words, or None for a solution."""
TOLERANCE = 1e-4


def compare(found: object, wanted: Tensor, given: str) -> str | None:
    """Return the difference of an output from the package's, in words."""
    if not isinstance(found, Tensor):
        return (
            "nothing is returned yet"
            if found in (None, ...)
            else f"it returns {type(found).__name__}, not a tensor"
        )
    if found.shape != wanted.shape:
        return f"{given}: the shape is {tuple(found.shape)}, not {tuple(wanted.shape)}"
    if found.dtype == torch.bool or wanted.dtype == torch.bool:
        wrong = int((found != wanted).sum())
        return f"{given}: {wrong} of {wanted.numel()} entries differ" if wrong else None
    off = float((found - wanted).abs().max())
    return None if off < TOLERANCE else f"{given}: the result differs by up to {off:.2g}"
