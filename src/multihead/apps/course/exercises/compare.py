"""Comparison of a reader's output with the package's."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from multihead.apps.course.korean import say

Function = Callable[..., Any]
"""A reader's answer."""
Check = Callable[[Function], str | None]
"""Returns the fault of an answer in words, or None for a solution."""
TOLERANCE = 1e-4


def compare(answer: object, expected: Tensor, inputs: str) -> str | None:
    """Describe the difference between a reader's answer and the package's; None: they agree."""
    if not isinstance(answer, Tensor):
        kind = say("it returns {}, not a tensor", type(answer).__name__)
        return say("nothing is returned") if answer is None else kind
    if answer.shape != expected.shape:
        return say("{}: the shape is {}, not {}", inputs, tuple(answer.shape), tuple(expected.shape))
    if answer.dtype == torch.bool or expected.dtype == torch.bool:
        wrong = int((answer != expected).sum())
        return say("{}: {} of {} entries differ", inputs, wrong, expected.numel()) if wrong else None
    off = float((answer - expected).abs().max())
    return None if off < TOLERANCE else say("{}: the result differs by up to {}", inputs, f"{off:.2g}")
