"""Everything beside the settings that decides how a training rounds: kernels, format, threads, versions."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from multihead import hardware, native

KERNELS = "kernels"
NAMES = {
    KERNELS: "other kernels",
    "format": "another number format",
    "threads": "another number of threads",
    "torch": "another version of PyTorch",
    "device": "another device",
}


def computation(precision: hardware.Precision, device: torch.device) -> dict[str, str | int]:
    """Return what a training is computed with, for a checkpoint.

    With the same of all of these, and the same settings and data, a resumed training ends with the bytes of
    an uninterrupted one.
    """
    on_cpu = device.type == "cpu"
    in_bytes = on_cpu and hardware.trains_in_int8(precision, device)
    kernels = (native.level() or "none") + (", int8" if in_bytes else "") if on_cpu else device.type
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {
        KERNELS: kernels,
        "format": hardware.training_precision(precision, device),
        "torch": torch.__version__,
        "device": device.type if on_cpu else gpu,
        # On a GPU the CPU's threads only make batches.
        **({"threads": torch.get_num_threads()} if on_cpu else {}),
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield what has changed since a checkpoint was written, in words.

    Of checkpoints of earlier versions not everything is known, and what is not known has not changed.
    """
    for key, name in NAMES.items():
        if key in before and key in now and before[key] != now[key]:
            yield f"{name} before ({before[key]}, now {now[key]})"
