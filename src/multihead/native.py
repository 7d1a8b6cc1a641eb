"""The native kernels (``native/``): found where they were compiled, chosen for this processor, called.

Where they are missing, everything runs in plain PyTorch.
"""

import ctypes
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

# What the kernels take: p a tensor or None, n a tuple of integers, i an integer, d a float. The number of
# threads comes last. A kernel whose arguments change gets another name: that is how a library that was
# compiled for an earlier version is told.
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
    "decode": "pnnnnpipp",
    "beam_search": "nnnnpppnnniip",
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
    return library, tuple(level for level in able if _is_whole(library, level))


def _is_whole(library: ctypes.CDLL, level: str) -> bool:
    wanted = [name for name in SIGNATURES if LEVEL_OF.get(name, level) == level]
    return hasattr(library, f"kernel_{level}") and all(_address(library, name, level, 0) for name in wanted)


def _address(library: ctypes.CDLL | None, name: str, level: str, number_format: int) -> int | None:
    find = getattr(library, f"kernel_{level}")
    find.argtypes, find.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
    address: int | None = find(name.encode(), number_format)
    return address


_library, LEVELS = _load()
_level = LEVELS[0] if LEVELS else ""
ON = bool(_level)
"""Whether native kernels are in use; ``suits`` says for which tensors."""


def level() -> str:
    """Which kernels are in use; "": none.

    amx, avx512bf16, avx512vnni, avx512, avxvnni, avx2, baseline (any processor): the later ones lack what the
    earlier ones have, products by matrix registers, of bf16, of bytes, registers of 16 numbers.
    """
    return _level


@contextmanager
def use(level: str) -> Iterator[None]:
    """Use another of ``LEVELS`` inside the block, or "" for plain PyTorch: for tests and comparisons."""
    global _level, ON
    assert level in ("", *LEVELS), level
    before, _level = _level, level
    ON = bool(level)
    try:
        yield
    finally:
        _level, ON = before, bool(before)


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
    _function(name, _level, dtype)(*passed, torch.get_num_threads())


@cache
def _function(name: str, level: str, dtype: torch.dtype) -> Callable[..., None]:
    types = [*(_TYPES[kind] for kind in SIGNATURES[name]), ctypes.c_int]
    address = _address(_library, name, level, _FORMATS[dtype])
    assert address, (name, dtype)
    return ctypes.CFUNCTYPE(None, *types)(address)


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


def integers(numbers: tuple[int, ...]) -> Integers:
    """Integers as kernels take them: made once, they need not be made in every call."""
    return _array(len(numbers))(*numbers)


def address(tensor: Tensor | None) -> int:
    """A tensor as an integer among those that a kernel takes; None: 0. Who calls keeps it alive."""
    return 0 if tensor is None else tensor.data_ptr()


def bits(number: float) -> int:
    """A float as such an integer."""
    integer: int = struct.unpack("q", struct.pack("d", number))[0]
    return integer


@cache
def _array(length: int) -> type[Integers]:
    return ctypes.c_int64 * length
