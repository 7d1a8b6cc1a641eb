"""The GPU's own kernels: files named ``triton_*``, compiled by Triton, which PyTorch for CUDA brings.

Where it is missing, everything runs in plain PyTorch.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

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
    return _loaded(module)


@cache
def _loaded(module: str) -> Any:
    return import_module(f"multihead.{module}") if find_spec("triton") else None
