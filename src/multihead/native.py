"""Loader and caller of the native kernels (``native/``), at the best level that this processor supports.

Without them, everything runs in plain PyTorch.
"""

import ctypes
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor
from torch.nn import Parameter

# Argument types of the kernels: p a tensor or None, n a tuple of integers, i an integer, d a float. The
# number of threads follows as the last argument. A kernel whose arguments change gets a new name, so that a
# library compiled for an earlier version is recognised.
SIGNATURES = {
    "dropout": "ppiiii",
    "relu": "ppi",
    "relu_backward": "pppi",
    "lookup": "pppiid",
    "lookup_backward": "pppiiid",
    "weight_gradient": "pipiiiipp",
    "byte_weight": "piiiip",
    "byte_linear": "piinppi",
    "byte_weight_gradient": "pipiiiipp",
    "residual": "ppnppppiiii",
    "residual_backward": "pppppppppiiii",
    "cross_entropy": "pppiidi",
    "sampled_cross_entropy": "pppppppiiiddi",
    "attention": "nnp",
    "attention_backward": "nnpn",
    "additive": "np",
    "additive_backward": "npppp",
    "linear_shared": "pnpi",
    "encoder_layer": "pnnp",
    "keep_source": "pinnn",
    "refill": "piiippi",
    "decode_cells": "pnnnnpipp",
    "search_cells": "nnnnpppnnniip",
    "log_normaliser": "ppii",
    "top": "pppiii",
}
# Kernels that only one level has.
LEVEL_OF = {"weight_gradient": "amx"}
_FORMATS = {torch.float32: 0, torch.bfloat16: 1, torch.int8: 2}
_TYPES = {"p": ctypes.c_void_p, "n": ctypes.c_void_p, "i": ctypes.c_int64, "d": ctypes.c_double}

OUTDATED = (
    "the native kernels were compiled for another version of multihead: all runs without them, slower; "
    "install it again to compile them: pip install -e ."
)
"""Warning about a library that lacks kernels."""

PLAIN = (Tensor, Parameter)
"""Classes of tensors whose address is that of their elements."""

Integers = ctypes.Array[ctypes.c_int64]
Argument = Tensor | tuple[int, ...] | Integers | int | float | None


def _load() -> tuple[ctypes.CDLL | None, tuple[str, ...]]:
    """Return the library and its levels that this processor can run, best first."""
    found = find_spec("multihead._native")
    if found is None or found.origin is None:
        return None, ()
    try:
        library = ctypes.CDLL(found.origin)
        library.processor_levels.restype = ctypes.c_char_p
        supported = library.processor_levels().decode().split()
    except (OSError, AttributeError):  # compiled for another machine, or linked to missing libraries
        return None, ()
    levels = tuple(level for level in supported if _is_complete(library, level))
    if supported and not levels:
        warnings.warn(OUTDATED, stacklevel=2)
    return library, levels


def _is_complete(library: ctypes.CDLL, level: str) -> bool:
    names = [name for name in SIGNATURES if LEVEL_OF.get(name, level) == level]
    return hasattr(library, f"kernel_{level}") and all(_address(library, name, level, 0) for name in names)


def _address(library: ctypes.CDLL | None, name: str, level: str, number_format: int) -> int | None:
    find = getattr(library, f"kernel_{level}")
    find.argtypes, find.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
    address: int | None = find(name.encode(), number_format)
    return address


_library, LEVELS = _load()
_level = LEVELS[0] if LEVELS else ""
ON = bool(_level)
"""True while native kernels are in use; ``suits`` says for which tensors."""


def level() -> str:
    """Return the level of the kernels in use; "": none.

    The levels, best first: amx (matrix registers), avx512bf16 (bf16 products), avx512vnni (int8 products),
    avx512 (16 floats per register), avxvnni (int8 products in 8-float registers), avx2, baseline (any
    processor).
    """
    return _level


@contextmanager
def use(level: str) -> Iterator[None]:
    """Use another of ``LEVELS``, or "" for plain PyTorch, inside the block. For tests and benchmarks."""
    global _level, ON
    assert level in ("", *LEVELS), level
    before, _level = _level, level
    ON = bool(level)
    try:
        yield
    finally:
        _level, ON = before, bool(before)


def has(name: str) -> bool:
    """Return True if the level in use has this kernel."""
    return bool(_level) and LEVEL_OF.get(name, _level) == _level


def suits(*tensors: Tensor) -> bool:
    """Return True if native kernels accept these: plain CPU tensors, all fp32 or all bf16, not compiled."""
    if not _level or torch.compiler.is_compiling() or not all(type(x) in PLAIN for x in tensors):
        return False
    dtype = tensors[0].dtype
    return dtype in (torch.float32, torch.bfloat16) and all(
        x.device.type == "cpu" and x.dtype == dtype for x in tensors
    )


def call(name: str, dtype: torch.dtype, *arguments: Argument) -> None:
    """Call a kernel. Tensors must be contiguous unless their strides are passed too.

    Raises:
        TypeError: a tensor is of a subclass, e.g. a ``DTensor``, whose address is not that of its elements.
    """
    assert len(arguments) == len(SIGNATURES[name]), name
    passed = [
        address(each) if isinstance(each, Tensor) else integers(each) if isinstance(each, tuple) else each
        for each in arguments
    ]
    _function(name, _level, dtype)(*passed, torch.get_num_threads())


@cache
def _function(name: str, level: str, dtype: torch.dtype) -> Callable[..., None]:
    types = [*(_TYPES[kind] for kind in SIGNATURES[name]), ctypes.c_int]
    address = _address(_library, name, level, _FORMATS[dtype])
    assert address, (name, dtype)
    return ctypes.CFUNCTYPE(None, *types)(address)


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


def integers(numbers: tuple[int, ...]) -> Integers:
    """Return integers as a C array, which callers may keep and pass again."""
    return _array(len(numbers))(*numbers)


def address(tensor: Tensor | None) -> int:
    """Return a tensor's address as an integer argument; None: 0. The caller must keep the tensor alive.

    Raises:
        TypeError: it is of a subclass, e.g. a ``DTensor``, whose address is not that of its elements.
    """
    if tensor is None:
        return 0
    if type(tensor) not in PLAIN:
        raise TypeError(f"native kernels take plain tensors, not {type(tensor).__name__}")
    return tensor.data_ptr()


def bits(number: float) -> int:
    """Return the bits of a double as an integer argument."""
    integer: int = struct.unpack("q", struct.pack("d", number))[0]
    return integer


@cache
def _array(length: int) -> type[Integers]:
    return ctypes.c_int64 * length
