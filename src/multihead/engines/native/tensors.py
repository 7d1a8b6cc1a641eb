"""The native kernels' layers for PyTorch's tensors, which share their memory with the arrays."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from multihead.description import Spec, map_weights
from multihead.engines.native.cache import NativeCache
from multihead.engines.native.layers import NativeDecoder
from multihead.system.native_library import Array


def in_arrays(spec: Spec) -> Spec:
    """Return a description with float32 arrays in the place of tensors; tied weights stay tied.

    So do the tables that a function of a description returns, such as positional encodings.
    """
    arrays: dict[int, tuple[Tensor, Array]] = {}  # the tensors are kept, so that no id is used again

    def array(value: Any) -> Any:
        if callable(value) and not isinstance(value, Tensor):
            return lambda length: array(value(length))
        if not isinstance(value, Tensor):
            return value
        if id(value) not in arrays:
            arrays[id(value)] = value, value.detach().float().contiguous().numpy()
        return arrays[id(value)][1]

    return map_weights(spec, array)


class TensorDecoder:
    """A native decoder whose single steps take and return tensors (``engines.layers.StepDecoder``)."""

    def __init__(self, decoder: NativeDecoder) -> None:
        self._decoder = decoder

    def begin(self, memory_NSd: Tensor, lengths_N: Tensor) -> list[NativeCache]:
        """The cache before the first step, one for all layers, with the source's keys and values."""
        return self._decoder.begin(memory_NSd.numpy(), lengths_N.numpy())

    def step(self, x_NKd: Tensor, caches: Sequence[NativeCache], bias_NKS: Tensor | None) -> None:
        """Compute one position of each sentence's K hypotheses in all layers."""
        self._decoder.step(x_NKd.numpy(), caches, None if bias_NKS is None else bias_NKS.numpy())

    def logits(self, x_NKd: Tensor, caches: Sequence[NativeCache], bias_NKS: Tensor | None) -> Tensor:
        """Take a step and return the logits of each hypothesis's next token, (N * K, V)."""
        bias = None if bias_NKS is None else bias_NKS.numpy()
        return torch.from_numpy(self._decoder.logits(x_NKd.numpy(), caches, bias))
