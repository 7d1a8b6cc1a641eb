"""Weights renamed: a module's matrix and bias, layer by layer."""

from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor

KINDS = ("weight", "bias")
GELUS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}
"""Activations by the library's names, as ours."""


def without(prefix: str, theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights by names without a prefix: a model with its heads writes it, one without does not."""
    return {name.removeprefix(prefix): weight for name, weight in theirs.items()}


def layers(theirs: Iterable[str], prefix: str) -> range:
    """Return the numbers of the layers whose weights' names begin with a prefix, as ``"h."`` in ``"h.3.w"``.

    Raises:
        KeyError: there is no such name.
    """
    found = [name.removeprefix(prefix).partition(".")[0] for name in theirs if name.startswith(prefix)]
    if not found:
        raise KeyError(prefix)
    return range(1 + max(map(int, found)))


def renamed(
    theirs: Mapping[str, Tensor], parts: Mapping[str, str], *, ours: str = "", theirs_at: str = ""
) -> dict[str, Tensor]:
    """Return matrix and bias of some modules by our names.

    Args:
        theirs: all weights.
        parts: our name of each module, and theirs.
        ours: stands before our names.
        theirs_at: stands before theirs.

    Raises:
        KeyError: one is missing.
    """
    return {
        f"{ours}{our}.{kind}": theirs[f"{theirs_at}{their}.{kind}"]
        for our, their in parts.items()
        for kind in KINDS
    }


def or_zeros(theirs: Mapping[str, Tensor], their: str, our: str, shape: tuple[int, int]) -> dict[str, Tensor]:
    """Return matrix (out, in) and bias of a module by our name; zeros where it is not there."""
    sizes: Iterator[tuple[int, ...]] = iter((shape, shape[:1]))
    return {
        f"{our}.{kind}": theirs.get(f"{their}.{kind}", torch.zeros(size))
        for kind, size in zip(KINDS, sizes, strict=True)
    }
