"""Conditions besides the settings that affect rounding: kernels, precision, threads, PyTorch, device."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from multihead.system import hardware, native, parallel

KERNELS = "kernels"
SUMS = {"fast": "all_reduce", "sharded": "reduce_scatter"}
NAMES = {
    KERNELS: "other kernels",
    "format": "another precision",
    "threads": "another number of threads",
    "torch": "another version of PyTorch",
    "device": "another device",
    "reduction": "another sum of gradients",
}


def computation(
    precision: hardware.Precision, device: torch.device, reduction: str = "ordered"
) -> dict[str, str | int]:
    """Return the conditions of a training run, for its checkpoints.

    Under equal conditions, with the same settings and data, a resumed run ends with the same bytes as an
    uninterrupted one.
    """
    on_cpu = device.type == "cpu"
    int8 = on_cpu and hardware.trains_in_int8(precision, device)
    kernels = (native.level() or "none") + (", int8" if int8 else "") if on_cpu else device.type
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {
        KERNELS: kernels,
        "format": hardware.training_precision(precision, device),
        "torch": torch.__version__,
        "device": device.type if on_cpu else gpu,
        # A sum in the order of the batches has the same bytes with any number of processes.
        "reduction": "in order"
        if reduction == "ordered"
        else f"{SUMS[reduction]}, {parallel.world()} processes",
        # With a GPU, CPU threads only prepare batches.
        **({"threads": torch.get_num_threads()} if on_cpu else {}),
    }


def changed_conditions(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield a description of each condition that has changed since a checkpoint was written.

    Conditions that an earlier version did not record count as unchanged.
    """
    for key, name in NAMES.items():
        if key in before and key in now and before[key] != now[key]:
            yield f"{name} before ({before[key]}, now {now[key]})"
