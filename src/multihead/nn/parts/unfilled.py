"""Construction of models whose weights are about to be loaded, or of which only the shapes are asked.

Random initialisation takes longest of all, and on the device "meta" PyTorch imports its compiler for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import init
from torch.overrides import TorchFunctionMode

_FILLING = (
    *(Tensor.uniform_, Tensor.normal_),
    *(init.uniform_, init.normal_, init.trunc_normal_, init.kaiming_uniform_, init.kaiming_normal_),
    *(init.xavier_uniform_, init.xavier_normal_, init.orthogonal_),
)


class Unfilled(TorchFunctionMode):
    """Context in which random initialisation is skipped."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function, unless it fills a tensor."""
        kwargs = kwargs or {}
        if function in _FILLING:
            return args[0] if args else kwargs["tensor"]
        if function is torch.linalg.qr:  # of an orthogonal matrix: some matrices of the same shapes
            return args[0], args[0]
        return function(*args, **kwargs)


class _Shapes(Unfilled):
    """Context for the device "meta", in which what PyTorch decomposes in Python is only given its shape."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function, unless it fills a tensor or counts."""
        kwargs = kwargs or {}
        if function is torch.arange and args and all(isinstance(number, int) for number in args):
            dtype = kwargs.get("dtype") or torch.int64
            return torch.empty(len(range(*args)), dtype=dtype, device="meta")
        return super().__torch_function__(function, types, args, kwargs)


@contextmanager
def only_shapes() -> Iterator[None]:
    """Context in which modules are made without memory for their weights."""
    with torch.device("meta"), _Shapes():
        yield
