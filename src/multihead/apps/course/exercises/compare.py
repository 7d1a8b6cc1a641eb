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


def compare(answer: object, expected: Tensor, inputs: str) -> str | None:
    """Describe the difference between a reader's answer and the package's; None: they agree."""
    if not isinstance(answer, Tensor):
        kind = f"it returns {type(answer).__name__}, not a tensor"
        return "nothing is returned yet" if answer in (None, ...) else kind
    if answer.shape != expected.shape:
        return f"{inputs}: the shape is {tuple(answer.shape)}, not {tuple(expected.shape)}"
    if answer.dtype == torch.bool or expected.dtype == torch.bool:
        wrong = int((answer != expected).sum())
        return f"{inputs}: {wrong} of {expected.numel()} entries differ" if wrong else None
    off = float((answer - expected).abs().max())
    return None if off < TOLERANCE else f"{inputs}: the result differs by up to {off:.2g}"
