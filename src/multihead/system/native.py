"""The native kernels (``native_library``) for PyTorch's tensors."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn import Parameter

from multihead.system import native_library
from multihead.system.native_library import (
    LEVELS,
    SIGNATURES,
    Format,
    Integers,
    bits,
    function,
    has,
    integers,
    level,
)

__all__ = [
    "FORMATS",
    "LEVELS",
    "Integers",
    "bits",
    "call",
    "has",
    "ids",
    "integers",
    "level",
    "seed",
    "suits",
    "tensor_address",
    "use",
]

PLAIN = (Tensor, Parameter)
"""Classes of tensors whose address is that of their elements."""

Argument = Tensor | tuple[int, ...] | Integers | int | float | None

ON = bool(level())
"""True while native kernels are in use; ``suits`` says for which tensors."""

native_library.count_threads(torch.get_num_threads)


@contextmanager
def use(level: str) -> Iterator[None]:
    """Use another of ``LEVELS``, or "" for plain PyTorch, inside the block. For tests and benchmarks."""
    global ON
    before = ON
    with native_library.use(level):
        ON = bool(level)
        try:
            yield
        finally:
            ON = before


def suits(*tensors: Tensor) -> bool:
    """Return True if native kernels accept these: plain CPU tensors, all fp32 or all bf16, not compiled."""
    if not level() or torch.compiler.is_compiling() or not all(type(x) in PLAIN for x in tensors):
        return False
    dtype = tensors[0].dtype
    return dtype in (torch.float32, torch.bfloat16) and all(
        x.device.type == "cpu" and x.dtype == dtype for x in tensors
    )


FORMATS: dict[torch.dtype, Format] = {
    torch.float32: "float32",
    torch.bfloat16: "bfloat16",
    torch.int8: "int8",
}
"""The kernels' names of dtypes."""


def call(name: str, dtype: torch.dtype, *arguments: Argument) -> None:
    """Call a kernel. Tensors must be contiguous unless their strides are passed too.

    Raises:
        TypeError: a tensor is of a subclass, e.g. a ``DTensor``, whose address is not that of its elements.
    """
    assert len(arguments) == len(SIGNATURES[name]), name
    passed = [
        tensor_address(argument)
        if isinstance(argument, Tensor)
        else integers(argument)
        if isinstance(argument, tuple)
        else argument
        for argument in arguments
    ]
    function(name, level(), FORMATS[dtype])(*passed, torch.get_num_threads())


def seed() -> int:
    """Draw a dropout seed from torch's generator."""
    return int(torch.empty((), dtype=torch.int64).random_())


def ids(numbers: Tensor, V: int) -> Tensor:
    """Return ids as contiguous int64, bounds-checked: kernels use them as addresses.

    Raises:
        IndexError: an id lies outside 0 to V - 1.
    """
    numbers = numbers.long().contiguous()
    if numbers.numel() and not 0 <= int(numbers.min()) <= int(numbers.max()) < V:
        raise IndexError(f"an id lies outside 0 to {V - 1:,}")
    return numbers


def tensor_address(tensor: Tensor | None) -> int:
    """Return a tensor's address as an integer argument; None: 0. The caller must keep the tensor alive.

    Raises:
        TypeError: it is of a subclass, e.g. a ``DTensor``, whose address is not that of its elements.
    """
    if tensor is None:
        return 0
    if type(tensor) not in PLAIN:
        raise TypeError(f"native kernels take plain tensors, not {type(tensor).__name__}")
    return tensor.data_ptr()
