"""The native kernels (``native/``): found where they were compiled, chosen for this processor, called.

Where they are missing, everything runs in plain PyTorch.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

# What the functions take after the number format: p a tensor or None, n a tuple of integers, i an integer,
# d a float. The number of threads comes last. A function whose arguments change gets another name: that is
# how a library that was compiled for an earlier version is told.
SIGNATURES = {
    "dropout": "ppiiii",
    "relu": "ppi",
    "relu_backward": "pppi",
    "lookup": "pppiid",
    "lookup_backward": "pppiiid",
    "weight_gradient": "pipiiiipp",
    "byte_weight": "piiiip",
    "byte_linear": "piippiiippi",
    "byte_weight_gradient": "pipiiiipp",
    "residual": "ppppppppiidii",
    "residual_backward": "pppppppppiiii",
    "cross_entropy": "pppiidi",
    "sampled_cross_entropy": "pppppppiiiddi",
    "attention": "pnpnpnpnpnpnii",
    "attention_backward": "pnpnpnpnpnppnpnpnnii",
    "additive": "ppppn",
    "additive_backward": "pppppppn",
    "linear": "pnpi",
    "encoder_layer": "pndnp",
    "keep_source": "pinnn",
    "refill": "piiippi",
    "decode": "pindnnnppp",
    "beam_search": "indnnnpppnndpniip",
    "log_normaliser": "ppii",
    "top": "pppiii",
}
# Those that only one level has.
LEVEL_OF = {"weight_gradient": "amx"}
_FORMATS = {torch.float32: 0, torch.bfloat16: 1, torch.int8: 2}
_TYPES = {"p": ctypes.c_void_p, "n": ctypes.c_void_p, "i": ctypes.c_int64, "d": ctypes.c_double}

Integers = ctypes.Array[ctypes.c_int64]
Argument = Tensor | tuple[int, ...] | Integers | int | float | None


def _load() -> tuple[ctypes.CDLL | None, tuple[str, ...]]:
    """Return the library and the levels of it that this processor can run, the best first."""
    found = find_spec("multihead._native")
    if found is None or found.origin is None:
        return None, ()
    try:
        library = ctypes.CDLL(found.origin)
        library.processor_levels.restype = ctypes.c_char_p
        able = library.processor_levels().decode().split()
    except (OSError, AttributeError):  # of another machine, or without the libraries that it was linked to
        return None, ()
    # One that was compiled for an earlier version lacks what came later, and is none.
    whole = [
        level
        for level in able
        if all(
            hasattr(library, f"{name}_{level}") for name in SIGNATURES if LEVEL_OF.get(name, level) == level
        )
    ]
    return library, tuple(whole)


_library, LEVELS = _load()
_level = LEVELS[0] if LEVELS else ""


def level() -> str:
    """Which kernels are in use; "": none.

    amx, avx512bf16, avx512vnni, avx512, avxvnni, avx2, baseline (any processor): the later ones lack what the
    earlier ones have, products by matrix registers, of bf16, of bytes, registers of 16 numbers.
    """
    return _level


@contextmanager
def use(level: str) -> Iterator[None]:
    """Use another of ``LEVELS`` inside the block, or "" for plain PyTorch: for tests and comparisons."""
    global _level
    assert level in ("", *LEVELS), level
    before, _level = _level, level
    try:
        yield
    finally:
        _level = before


def has(name: str) -> bool:
    """Tell whether the kernels in use have this one."""
    return bool(_level) and LEVEL_OF.get(name, _level) == _level


def suits(*tensors: Tensor) -> bool:
    """Tell whether native kernels can take these: on the CPU, all in fp32 or all in bf16, not compiled."""
    if not _level or torch.compiler.is_compiling():
        return False
    dtype = tensors[0].dtype
    return dtype in (torch.float32, torch.bfloat16) and all(
        x.device.type == "cpu" and x.dtype == dtype for x in tensors
    )


def call(name: str, dtype: torch.dtype, *arguments: Argument) -> None:
    """Call a kernel; tensors must be contiguous, or come with their strides."""
    assert len(arguments) == len(SIGNATURES[name]), name
    passed = [
        each.data_ptr() if isinstance(each, Tensor) else integers(each) if isinstance(each, tuple) else each
        for each in arguments
    ]
    _function(name, _level)(_FORMATS[dtype], *passed, torch.get_num_threads())


@cache
def _function(name: str, level: str) -> Callable[..., None]:
    function: Callable[..., None] = getattr(_library, f"{name}_{level}")
    types = [ctypes.c_int, *(_TYPES[kind] for kind in SIGNATURES[name]), ctypes.c_int]
    function.argtypes, function.restype = types, None  # type: ignore[attr-defined]
    return function


def seed() -> int:
    """Draw the seed of a dropout mask from torch's generator."""
    return int(torch.empty((), dtype=torch.int64).random_())


def ids(numbers: Tensor, V: int) -> Tensor:
    """Numbers as kernels take them that read and write where one says.

    Raises:
        IndexError: one is none of the V ids, 0 to V - 1.
    """
    numbers = numbers.long().contiguous()
    if numbers.numel() and not 0 <= int(numbers.min()) <= int(numbers.max()) < V:
        raise IndexError(f"a number that is none of the {V:,} ids")
    return numbers


def dropped_of_256(p: float) -> int:
    """The chance of dropout as native kernels take it: how many of 256 bytes drop their element."""
    return min(255, round(p * 256))


def integers(numbers: tuple[int, ...]) -> Integers:
    """Integers as kernels take them: made once, they need not be made in every call."""
    return _array(len(numbers))(*numbers)


@cache
def _array(length: int) -> type[Integers]:
    return ctypes.c_int64 * length
