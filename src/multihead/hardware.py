"""What the machine offers: which device, which number format, how many threads, how memory is kept."""

import ctypes
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch

from multihead import native
from multihead.cores import usable_cores, wanted_threads
from multihead.errors import UserError

Precision = Literal["auto", "fp32", "bf16", "int8"]
_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h of the GNU C library


def pick_device(name: str = "auto") -> torch.device:
    """Return the named device; for "auto" the first there is of cuda, mps, cpu.

    Raises:
        UserError: no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        # PyTorch would list twenty, and which of its parts knows of them.
        known = not reason.startswith(("Expected one of", "Could not run"))
        fact = f'no device "{name}" here{f" ({reason})" if known else ""}'
        raise UserError(fact, remedy="Leave it at auto, or say cpu.") from None
    if device.type == "cuda":
        # cuDNN's attention makes a plan for every shape, in a tenth of a second, and sentences have many.
        torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def pick_dtype(precision: Precision, device: torch.device) -> torch.dtype:
    """Return the format of activations; for "auto" bf16 where the hardware computes in it.

    With "int8" matrix products may be of bytes, and all else is as for "auto".

    Raises:
        UserError: no such format.
    """
    if precision in ("auto", "int8"):
        precision = "bf16" if has_fast_bf16(device) else "fp32"
    if precision not in _DTYPES:
        raise UserError(f"no precision {precision!r}", remedy="Say auto, fp32, bf16 or int8.")
    return _DTYPES[precision]


BYTES_ARE_FASTER = ("avxvnni", "avx512vnni", "avx512bf16")
"""Levels of native kernels at which training is faster in bytes: where an instruction multiplies vectors of
them, but not where matrix registers multiply bf16."""


def trains_in_bytes(precision: Precision, device: torch.device) -> bool:
    """Tell whether matrix products of training are of bytes; for "auto" where that is faster.

    Raises:
        UserError: "int8" where there are no native kernels for it.
    """
    level = native.level() if device.type == "cpu" else ""
    if precision == "int8" and not level:
        raise UserError(
            "training in int8 needs a CPU and the native kernels",
            place="training.precision",
            remedy="Leave it at auto; `multihead doctor` tells of the native part.",
        )
    return precision == "int8" or (precision == "auto" and level in BYTES_ARE_FASTER)


def format_in_training(precision: Precision, device: torch.device) -> str:
    """Say in what matrix products of training are computed: fp32, bf16, int8.

    Raises:
        UserError: it cannot be had here.
    """
    if trains_in_bytes(precision, device):
        return "int8"
    return "bf16" if pick_dtype(precision, device) == torch.bfloat16 else "fp32"


def has_fast_bf16(device: torch.device) -> bool:
    """Tell whether the device multiplies bf16 matrices faster than fp32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    features = torch.cpu.get_capabilities() if device.type == "cpu" else {}
    return bool(features.get("avx512_bf16") or features.get("amx_bf16"))


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Compute matrix products in ``dtype`` inside the block; weights stay what they are."""
    if dtype == torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype)


def use_threads(count: int = 0) -> None:
    """Compute on this many CPU threads, but on no more than there are cores; 0: on all cores."""
    torch.set_num_threads(min(count, usable_cores()) or wanted_threads())


def keep_memory() -> None:
    """Let the C library keep freed memory instead of returning it to the system after every product.

    A large result would otherwise be mapped and filled with zeros by the kernel each time: a fifth of the
    time of a small model's training step. Does nothing where the library is another one.

    And let the matrix library keep what it compiled for each shape of a product: a corpus' batches have more
    shapes than the 1,024 it keeps by itself, and compiling the same again took half of the time on two cores.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "8192")  # read at the first product
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # Some versions refuse more than 32 MiB. Where the first is refused, the second alone would do harm: what
    # the library finds out by itself about large results would end with it.
    if mallopt is not None and (mallopt(_M_MMAP_THRESHOLD, 1 << 30) or mallopt(_M_MMAP_THRESHOLD, 1 << 25)):
        mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)


def return_memory() -> None:
    """Give what the C library keeps and nobody uses back to the system, see :func:`keep_memory`.

    Batches of ever other shapes leave gaps that are never filled again: without this a training's memory
    grows to a multiple of what it needs. Now and then it costs nothing that could be measured.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
