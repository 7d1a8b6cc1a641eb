"""The GPU's own kernels: files named ``triton_*``, compiled by Triton, which PyTorch for CUDA brings.

Where it is missing, everything runs in plain PyTorch. A file has ``prove(device)``, which computes a small
example beside the equation and raises if they differ: before its kernels are used for the first time, so that
a GPU on which one cannot be compiled, or is wrong, goes without it.
"""

import logging
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

LOG = logging.getLogger(__name__)
FORMATS = (torch.float32, torch.bfloat16, torch.float16)


def kernel(module: str, *tensors: Tensor) -> Any:
    """Return the module of a kernel if it can compute with these tensors, else None.

    Args:
        module: its name within the package, e.g. "nn.kernels.triton_attention".
        tensors: all on one GPU, in one format.
    """
    first = tensors[0]
    if not first.is_cuda or first.dtype not in FORMATS or torch.compiler.is_compiling():
        return None
    if any(tensor.dtype != first.dtype for tensor in tensors):
        return None
    return _proved(module, first.device)


@cache
def _proved(module: str, device: torch.device) -> Any:
    if not find_spec("triton"):
        return None
    try:
        found = import_module(f"multihead.{module}")
        # Whoever asks may be in the middle of anything.
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autocast("cuda", enabled=False),
            torch.random.fork_rng([device] if device.type == "cuda" else []),
        ):
            found.prove(device)
    except Exception as error:
        LOG.warning("The GPU's kernels of %s are left alone: %s: %s", module, type(error).__name__, error)
        return None
    return found
