"""Adam and AdamW that do not import PyTorch's compiler.

``torch.optim`` excludes some of its methods from compilation, and imports the compiler to do so: seconds at
the start of every training. The methods themselves are kept.
"""

from collections.abc import Callable
from inspect import unwrap
from typing import Any

import torch
from torch.optim import Optimizer


class _Eager(Optimizer):
    """A mixin: methods without the compiler's wrappers."""

    add_param_group = unwrap(Optimizer.add_param_group)
    zero_grad = unwrap(Optimizer.zero_grad)
    state_dict = unwrap(Optimizer.state_dict)
    load_state_dict = unwrap(Optimizer.load_state_dict)

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        wrapped: Any = super().step
        with torch.no_grad():
            loss: float | None = unwrap(wrapped.__func__)(self, closure)
        return loss


class Adam(_Eager, torch.optim.Adam):
    """Adam (Kingma and Ba 2015); arguments as of ``torch.optim.Adam``."""


class AdamW(_Eager, torch.optim.AdamW):
    """AdamW (Loshchilov and Hutter 2019); arguments as of ``torch.optim.AdamW``."""
