"""Loader and caller of the native kernels (``native/``) for NumPy arrays; it does not need PyTorch.

``multihead.system.native`` is the same for tensors. Without the kernels, everything runs in plain PyTorch.
"""

import ctypes
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from multihead.system.cores import default_threads

Format = Literal["float32", "bfloat16", "int8"]
"""Format of matrix products. NumPy has no bfloat16: its arrays hold the bits as uint16."""
Precision = Literal["auto", "fp32", "bf16", "int8"]
"""Precision of matrix products as users name it; auto is bf16 if the hardware multiplies it."""
Array = NDArray[Any]
PANEL = 64
"""Outputs per panel of a packed matrix (``native/products.h``)."""

# Argument types of the kernels: p an array or None, n a tuple of integers, i an integer, d a float. The
# number of threads follows as the last argument. A kernel whose arguments change gets a new name, so that a
# library compiled for an earlier version is recognised.
SIGNATURES = {
    "dropout": "ppiiii",
    "gelu_tanh": "ppi",
    "gelu_tanh_backward": "pppi",
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
    "encode_cells": "pnnp",
    "keep_source": "pinnn",
    "refill": "piiippi",
    "decode_cells": "pnnnnpipp",
    "search_windows": "nnnnpppnnniip",
    "log_normaliser": "ppii",
    "top": "pppiii",
}
# Kernels that only one level has.
LEVEL_OF = {"weight_gradient": "amx"}
_FORMATS: dict[Format, int] = {"float32": 0, "bfloat16": 1, "int8": 2}
_TYPES = {"p": ctypes.c_void_p, "n": ctypes.c_void_p, "i": ctypes.c_int64, "d": ctypes.c_double}

OUTDATED = (
    "the native kernels were compiled for another version of multihead: all runs without them, slower; "
    "install it again to compile them: pip install -e ."
)
"""Warning about a library that lacks kernels."""

Integers = ctypes.Array[ctypes.c_int64]
Argument = Array | tuple[int, ...] | Integers | int | float | None


def _load() -> tuple[ctypes.CDLL | None, tuple[str, ...], str]:
    """Return the library, its levels that this processor can run, best first, and why it was not loaded."""
    spec = find_spec("multihead._native")
    if spec is None or spec.origin is None:
        return None, (), ""
    try:
        library = _open(spec.origin)
        library.processor_levels.restype = ctypes.c_char_p
        supported = library.processor_levels().decode().split()
    except (OSError, AttributeError) as error:  # compiled for another machine, or linked to missing libraries
        return None, (), str(error)
    levels = tuple(level for level in supported if _is_complete(library, level))
    if supported and not levels:
        warnings.warn(OUTDATED, stacklevel=2)
    return library, levels, ""


def _open(path: str) -> ctypes.CDLL:
    """Open the library, with the OpenMP library of PyTorch's installation if the system has none."""
    try:
        return ctypes.CDLL(path)
    except OSError:
        torch = find_spec("torch")  # imports nothing
        for folder in (torch and torch.submodule_search_locations) or ():
            for openmp in sorted(Path(folder, "lib").glob("libgomp*.so*")):
                ctypes.CDLL(str(openmp))  # the loader finds it by name from now on
        return ctypes.CDLL(path)


def _is_complete(library: ctypes.CDLL, level: str) -> bool:
    names = [name for name in SIGNATURES if LEVEL_OF.get(name, level) == level]
    return hasattr(library, f"kernel_{level}") and all(_address(library, name, level, 0) for name in names)


def _address(library: ctypes.CDLL | None, name: str, level: str, number_format: int) -> int | None:
    find = getattr(library, f"kernel_{level}")
    find.argtypes, find.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
    address: int | None = find(name.encode(), number_format)
    return address


_library, LEVELS, WHY_NOT_LOADED = _load()
_level = LEVELS[0] if LEVELS else ""
_threads: Callable[[], int] = cache(default_threads)


def count_threads(count: Callable[[], int]) -> None:
    """Take the number of threads of each call from this function: PyTorch's, once it is imported."""
    global _threads
    _threads = count


def threads() -> int:
    """Return the number of threads of the next call."""
    return _threads()


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
    global _level
    assert level in ("", *LEVELS), level
    before, _level = _level, level
    try:
        yield
    finally:
        _level = before


def has(name: str) -> bool:
    """Return True if the level in use has this kernel."""
    return bool(_level) and LEVEL_OF.get(name, _level) == _level


def call(name: str, number_format: Format, *arguments: Argument) -> None:
    """Call a kernel. Arrays must be contiguous unless their strides are passed too."""
    assert len(arguments) == len(SIGNATURES[name]), name
    passed = [
        array_address(argument)
        if isinstance(argument, np.ndarray)
        else integers(argument)
        if isinstance(argument, tuple)
        else argument
        for argument in arguments
    ]
    function(name, _level, number_format)(*passed, _threads())


@cache
def function(name: str, level: str, number_format: Format) -> Callable[..., None]:
    """Return a kernel; its last argument is the number of threads."""
    types = [*(_TYPES[kind] for kind in SIGNATURES[name]), ctypes.c_int]
    address = _address(_library, name, level, _FORMATS[number_format])
    assert address, (name, number_format)
    return ctypes.CFUNCTYPE(None, *types)(address)


def integers(numbers: tuple[int, ...]) -> Integers:
    """Return integers as a C array, which callers may keep and pass again."""
    return _array(len(numbers))(*numbers)


def array_address(array: Array | None) -> int:
    """Return an array's address as an integer argument; None: 0. The caller must keep the array alive."""
    return 0 if array is None else array.ctypes.data


def bits(number: float) -> int:
    """Return the bits of a double as an integer argument."""
    integer: int = struct.unpack("q", struct.pack("d", number))[0]
    return integer


@cache
def _array(length: int) -> type[Integers]:
    return ctypes.c_int64 * length
