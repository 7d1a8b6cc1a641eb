"""The GPU's own kernels, where there is a compiler for them (Triton, which PyTorch for CUDA brings)."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

FORMATS = (torch.float32, torch.bfloat16, torch.float16)


def kernel(name: str, *tensors: Tensor) -> Any:
    """Return the module of a kernel if it can compute with these tensors, else None.

    Args:
        name: what follows "triton_" in the module's name.
        tensors: all on one GPU, in one format.
    """
    first = tensors[0]
    if not first.is_cuda or first.dtype not in FORMATS or torch.compiler.is_compiling():
        return None
    if any(tensor.dtype != first.dtype for tensor in tensors):
        return None
    return _loaded(name)


@cache
def _loaded(name: str) -> Any:
    return import_module(f"multihead.nn.kernels.triton_{name}") if find_spec("triton") else None
