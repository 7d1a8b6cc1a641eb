"""Checks of a new model for weights that cannot be trained or saved as they are."""

import itertools
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from multihead.errors import UserError

_DEEPEST = 3


def refuse_unfit(model: nn.Module) -> None:
    """Check every weight of a model.

    Raises:
        UserError: a weight has no shape yet, is sparse, or shares memory with itself or another; a module or
            parameter is hidden in a list or dictionary; an embedding has sparse gradients.
    """
    for name, weight in [*model.named_parameters(), *_buffers(model)]:
        if fault := _fault(weight):
            raise UserError(f"{name} {fault[0]}", place="model", remedy=fault[1])
    for prefix, part in model.named_modules():
        if isinstance(part, nn.Embedding | nn.EmbeddingBag) and part.sparse:
            raise UserError(
                f"{prefix} has sparse gradients, which no optimiser here takes",
                place="model",
                remedy="Leave sparse=True out.",
            )
    _refuse_hidden(model)
    _refuse_overlaps(model)


def _buffers(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield the buffers that are saved."""
    for prefix, part in model.named_modules():
        for name, buffer in part._buffers.items():
            if buffer is not None and name not in part._non_persistent_buffers_set:
                yield f"{prefix}.{name}".removeprefix("."), buffer


def _fault(weight: Tensor) -> tuple[str, str] | None:
    """Return what is wrong with a weight, and the remedy."""
    if is_lazy(weight):
        return "has no shape before the first batch (a lazy module)", "Give the layer its sizes."
    if weight.layout != torch.strided or weight.is_quantized:
        return "is a sparse or quantised tensor, which is not saved", "Make it a dense one (to_dense)."
    if weight.is_meta:
        return 'has no numbers: it is on the device "meta"', "Make it on the CPU."
    if any(size > 1 and stride == 0 for size, stride in zip(weight.shape, weight.stride(), strict=True)):
        return "is an expanded tensor, whose elements share memory", "Add .clone(), or expand it in forward."
    return None


def _refuse_hidden(model: nn.Module) -> None:
    known = {id(parameter) for parameter in model.parameters()}
    for prefix, part in model.named_modules():
        for name, value in vars(part).items():
            for found in _trainable_parameters(value) if name not in _INTERNAL else ():
                if id(found) not in known:
                    where = f"{prefix}.{name}".removeprefix(".")
                    raise UserError(
                        f"{where} is a plain {type(value).__name__} with parameters, which are neither "
                        "trained nor saved",
                        place="model",
                        remedy="Use nn.ModuleList, nn.ModuleDict or nn.ParameterList; or, if they shall "
                        "never be trained, set requires_grad_(False).",
                    )


_INTERNAL = frozenset(vars(nn.Module()))


def _trainable_parameters(value: Any, depth: int = 0) -> Iterator[Tensor]:
    """Yield the parameters that a plain container holds, with those of its modules."""
    if isinstance(value, nn.Module):
        yield from (parameter for parameter in value.parameters() if parameter.requires_grad)
    elif isinstance(value, nn.Parameter):
        yield from (value,) if value.requires_grad else ()
    elif depth < _DEEPEST and isinstance(value, list | tuple | deque | Mapping):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _trainable_parameters(one, depth + 1)


def _refuse_overlaps(model: nn.Module) -> None:
    """Refuse parameters that are different objects of one memory: each would have moments of its own."""
    places = sorted(
        (weight.data_ptr(), weight.data_ptr() + weight.numel() * weight.element_size(), name)
        for name, weight in model.named_parameters()
        if weight.is_contiguous() and weight.numel()
    )
    for (_, end, name), (begin, _, other) in itertools.pairwise(places):
        if begin < end:
            raise UserError(
                f"{other} and {name} share memory, but are two parameters",
                place="model",
                remedy="Assign one nn.Parameter to both, or copy it: .detach().clone().",
            )
