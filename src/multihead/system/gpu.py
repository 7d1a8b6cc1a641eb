"""Loader of the GPU kernels: modules named ``triton_*``, compiled by Triton (part of PyTorch for CUDA).

Without Triton, everything runs in plain PyTorch. Each module has ``prove(device)``, which compares a small
example with the equation and raises if they differ. It runs before the kernels' first use, so that a GPU on
which a kernel fails to compile, or computes something else, falls back to PyTorch.
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
    """Return a kernel's module if it accepts these tensors, else None.

    Args:
        module: name within the package, e.g. "nn.kernels.triton_attention".
        tensors: the kernel's inputs. Accepted: all on one GPU, of one dtype.
    """
    first = tensors[0]
    if not first.is_cuda or first.dtype not in FORMATS or torch.compiler.is_compiling():
        return None
    if any(tensor.dtype != first.dtype for tensor in tensors):
        return None
    return _verify(module, first.device)


@cache
def _verify(module: str, device: torch.device) -> Any:
    if not find_spec("triton"):
        return None
    try:
        loaded = import_module(f"multihead.{module}")
        # The caller may be in any mode.
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autocast("cuda", enabled=False),
            torch.random.fork_rng([device] if device.type == "cuda" else []),
        ):
            loaded.prove(device)
    except Exception as error:
        LOG.warning("GPU kernels of %s disabled: %s: %s", module, type(error).__name__, error)
        return None
    return loaded
