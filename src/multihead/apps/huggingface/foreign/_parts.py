"""Renaming of weights: a module's matrix and bias, layer by layer."""

from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor

KINDS = ("weight", "bias")
GELUS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}
"""Our names of activation functions, by the library's names."""


def without(prefix: str, theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights with a prefix removed from their names. Only models with a head have the prefix."""
    return {name.removeprefix(prefix): weight for name, weight in theirs.items()}


def layers(theirs: Iterable[str], prefix: str) -> range:
    """Return the layer numbers in weight names with a prefix, as ``"h."`` in ``"h.3.w"``.

    Raises:
        KeyError: no name has the prefix.
    """
    numbers = [name.removeprefix(prefix).partition(".")[0] for name in theirs if name.startswith(prefix)]
    if not numbers:
        raise KeyError(prefix)
    return range(1 + max(map(int, numbers)))


def rename(
    theirs: Mapping[str, Tensor], parts: Mapping[str, str], *, ours: str = "", theirs_at: str = ""
) -> dict[str, Tensor]:
    """Return matrix and bias of modules by our names.

    Args:
        theirs: all weights by their names.
        parts: their name of each module, by our name.
        ours: prefix of our names.
        theirs_at: prefix of their names.

    Raises:
        KeyError: a weight is missing.
    """
    return {
        f"{ours}{our}.{kind}": theirs[f"{theirs_at}{their}.{kind}"]
        for our, their in parts.items()
        for kind in KINDS
    }


def or_zeros(theirs: Mapping[str, Tensor], their: str, our: str, shape: tuple[int, int]) -> dict[str, Tensor]:
    """Return matrix (out, in) and bias of a module by our name; zeros if the module is missing."""
    sizes: Iterator[tuple[int, ...]] = iter((shape, shape[:1]))
    return {
        f"{our}.{kind}": theirs.get(f"{their}.{kind}", torch.zeros(size))
        for kind, size in zip(KINDS, sizes, strict=True)
    }
