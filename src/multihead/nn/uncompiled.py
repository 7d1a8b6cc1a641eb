"""Functions that torch.compile is to leave as they are.

``torch.compiler.disable`` as a decorator loads the compiler, a second at every start of every command, for
the few trainings that compile anything. So they are only noted here, and disabled before something is.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
T = TypeVar("T")

_noted: list[list[Callable[..., Any]]] = []


def uncompiled(function: Callable[P, T]) -> Callable[P, T]:
    """The same function (a decorator), called as it is also inside what is compiled."""
    held: list[Callable[P, T]] = [function]
    _noted.append(held)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return held[0](*args, **kwargs)

    return call


def leave_out_uncompiled() -> None:
    """Tell the compiler of them; before anything is compiled."""
    while _noted:
        held = _noted.pop()
        held[0] = torch.compiler.disable(held[0])  # type: ignore[no-untyped-call]
