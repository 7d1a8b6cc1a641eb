"""Functions that torch.compile must not compile.

As a decorator, ``torch.compiler.disable`` imports the compiler and adds a second to the start of every
command. So functions are only registered here, and disabled before something is compiled.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
T = TypeVar("T")

_registered: list[list[Callable[..., Any]]] = []


def exclude_from_compilation(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: exclude a function from compilation."""
    held: list[Callable[P, T]] = [function]
    _registered.append(held)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return held[0](*args, **kwargs)

    return call


def leave_out_uncompiled() -> None:
    """Disable compilation of the registered functions; call it before anything is compiled."""
    while _registered:
        held = _registered.pop()
        held[0] = torch.compiler.disable(held[0])  # type: ignore[no-untyped-call]
