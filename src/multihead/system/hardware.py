"""Choice of device, precision and threads of PyTorch."""

from contextlib import AbstractContextManager, nullcontext

import torch

from multihead.errors import UserError
from multihead.system import native
from multihead.system.cores import default_threads, usable_cores
from multihead.system.memory import keep_memory, return_memory
from multihead.system.native_library import Precision

__all__ = [
    "Precision",
    "autocast",
    "has_fast_bf16",
    "keep_memory",
    "pick_device",
    "pick_dtype",
    "return_memory",
    "training_precision",
    "trains_in_int8",
    "use_threads",
]

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def pick_device(name: str = "auto") -> torch.device:
    """Return the named device; for "auto" the first available of cuda, mps, cpu.

    Raises:
        UserError: the device is not available.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        # These two messages list all of PyTorch's backends.
        helpful = not reason.startswith(("Expected one of", "Could not run"))
        fact = f'device "{name}" is not available{f" ({reason})" if helpful else ""}'
        raise UserError(fact, remedy="Use auto or cpu.") from None
    if device.type == "cuda":
        # cuDNN attention builds a plan for every new shape in 0.1 s, and sentence batches have many shapes.
        torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def pick_dtype(precision: Precision, device: torch.device) -> torch.dtype:
    """Return the dtype of activations; for "auto" bf16 if the hardware supports it.

    For "int8" the activations are as for "auto"; only matrix products may use int8.

    Raises:
        UserError: no such precision.
    """
    if precision in ("auto", "int8"):
        precision = "bf16" if has_fast_bf16(device) else "fp32"
    if precision not in _DTYPES:
        raise UserError(f"no precision {precision!r}", remedy="Use auto, fp32, bf16 or int8.")
    return _DTYPES[precision]


INT8_IS_FASTER = ("avxvnni", "avx512vnni", "avx512bf16")
"""Levels of native kernels at which int8 training is fastest: those with an int8 dot-product instruction
(VNNI) and without bf16 matrix registers (AMX)."""


def trains_in_int8(precision: Precision, device: torch.device) -> bool:
    """Return True if training computes matrix products in int8; for "auto" if that is faster.

    Raises:
        UserError: "int8" without native kernels for it.
    """
    level = native.level() if device.type == "cpu" else ""
    if precision == "int8" and not level:
        raise UserError(
            "training in int8 needs a CPU and the native kernels",
            place="training.precision",
            remedy="Leave it at auto; `multihead doctor` shows the native kernels.",
        )
    return precision == "int8" or (precision == "auto" and level in INT8_IS_FASTER)


def training_precision(precision: Precision, device: torch.device) -> str:
    """Return the precision of training's matrix products: fp32, bf16 or int8.

    Raises:
        UserError: it is not available on this device.
    """
    if trains_in_int8(precision, device):
        return "int8"
    return "bf16" if pick_dtype(precision, device) == torch.bfloat16 else "fp32"


def has_fast_bf16(device: torch.device) -> bool:
    """Return True if the device multiplies matrices faster in bf16 than in fp32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    features = torch.cpu.get_capabilities() if device.type == "cpu" else {}
    return bool(features.get("avx512_bf16") or features.get("amx_bf16"))


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Compute matrix products in ``dtype`` inside the block; weights keep their dtype."""
    if dtype == torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype)


def use_threads(count: int = 0) -> None:
    """Set the number of CPU threads, at most one per core; 0: the default, see ``cores.default_threads``."""
    torch.set_num_threads(min(count, usable_cores()) or default_threads())
