"""State that a model keeps outside its checkpoints: buffers that are not persistent, and plain attributes.

In a resumed training, and in the trained model, such a value is the one that the model was made with. That is
right for a table, and for a cache that grows. It is wrong for a running mean or a counter.
"""

import logging
import random
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.system import parallel

LOG = logging.getLogger(__name__)

RECORDED = "recorded"
"""Attribute of a layer's class: the names of attributes that ``forward`` writes and never reads."""

_INTERNAL = frozenset(vars(nn.Module()))
_NUMBERS = (bool, int, float, complex, str)
_DEEPEST = 3


class _Unknown:
    """A value that is not compared."""


_UNKNOWN = _Unknown()


class Unsaved:
    """Values of a model that no checkpoint holds, as they were before the first update.

    Args:
        model: a new model, before a state is restored.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._first = values(model)
        self._late: set[str] = set()
        self._updates = 0
        self._warned: set[str] = set()

    def after_update(self) -> None:
        """Compare after the second update of a start: the first one may fill what is made on demand."""
        self._updates += 1
        if self._updates == 1:
            self._changes()
        if self._updates == 2:
            self.warn()

    def warn(self) -> None:
        """Log each value that has changed, once."""
        names = [name for name in self._changes() if name not in self._warned]
        self._warned.update(names)
        if names and parallel.first():
            LOG.warning(
                "Training changes %s, which no checkpoint holds: a resumed training and the trained model "
                "begin with the first value. Register a persistent buffer and change it in place "
                "(register_buffer). If no layer ever reads it, name it in the layer's class: "
                '%s = ("%s",)',
                ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else ""),
                RECORDED,
                _last(names[0]),
            )

    def _changes(self) -> list[str]:
        """Return the names of changed values; remember those that have appeared since the last call."""
        now = values(self._model)
        changed = []
        for name, value in now.items():
            first = self._first.get(name)
            if first is None or _is_kept(first, value):
                continue
            if name in self._late and isinstance(value, Tensor) and value.shape != first.shape:
                self._first[name] = _UNKNOWN  # of the batch's size: a record of the last forward pass
            else:
                changed.append(name)
        for name, value in now.items():
            if self._first.get(name) is None:
                self._first[name] = value
                self._late.add(name)
        return changed


def refuse_drawn(model: nn.Module, again: nn.Module) -> None:
    """Compare a new model with another of the same settings, made as a trained model is when it is loaded.

    Raises:
        UserError: a value that no checkpoint holds differs: it is drawn at random.
    """
    other = values(again)
    for name, value in values(model).items():
        if not _is_kept(value, other.get(name)):
            raise UserError(
                f"{name} of the model is drawn at random, and no checkpoint holds it: the trained model "
                "would have other numbers",
                place="model",
                remedy="Register it as a persistent buffer (register_buffer) or a parameter, or seed its own "
                f'generator. If no layer reads it, name it in its class: {RECORDED} = ("{_last(name)}",)',
            )


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def values(model: nn.Module) -> dict[str, Any]:
    """Return copies of all values of a model that no checkpoint holds and that can be compared."""
    saved = {id(tensor) for tensor in model.parameters()}
    for part in model.modules():
        lasting = part._buffers.keys() - part._non_persistent_buffers_set
        saved |= {id(part._buffers[name]) for name in lasting}
    return {
        f"{prefix}.{name}".removeprefix("."): _copy(value, saved)
        for prefix, part in model.named_modules()
        for name, value in _own(part)
    }


def _own(part: nn.Module) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of a module itself that are not saved."""
    recorded = getattr(type(part), RECORDED, ())
    for name, value in [*vars(part).items(), *part._buffers.items()]:
        # The older weight norm and spectral norm compute `weight` from `weight_g` or `weight_orig`.
        derived = any(other.startswith(f"{name}_") for other in part._parameters)
        if name not in _INTERNAL and name not in recorded and not derived:
            yield name, value


def _copy(value: Any, saved: set[int], depth: int = 0) -> Any:
    if value is None or isinstance(value, _NUMBERS):
        return value
    if isinstance(value, Tensor):
        # With gradients it is the result of a forward pass.
        known = id(value) in saved or value.requires_grad or value.is_meta or value.layout != torch.strided
        return _UNKNOWN if known else value.detach().clone()
    if isinstance(value, np.ndarray):
        return value.copy() if value.dtype.kind in "biufc" else _UNKNOWN
    if isinstance(value, torch.Generator):
        return value.get_state()
    if isinstance(value, np.random.Generator):
        return _copy(value.bit_generator.state, saved, depth)
    if isinstance(value, random.Random):
        return value.getstate()
    if depth and isinstance(value, nn.Module):  # hidden in a list, such as a frozen teacher
        weights = [*value.named_parameters(), *value.named_buffers()]
        return {name: _copy(weight, saved) for name, weight in weights}
    if depth < _DEEPEST:
        if isinstance(value, list | tuple | deque):
            return [_copy(one, saved, depth + 1) for one in value]
        if isinstance(value, Mapping):
            return {key: _copy(one, saved, depth + 1) for key, one in value.items()}
    return _UNKNOWN


def _is_kept(old: Any, new: Any) -> bool:
    """Return True if a value is the same, or has grown as a cache does."""
    if old is _UNKNOWN or new is _UNKNOWN:
        return True
    if isinstance(old, Tensor | np.ndarray):
        return isinstance(new, type(old)) and _same_array(torch.as_tensor(old), torch.as_tensor(new))
    if isinstance(old, list):
        return isinstance(new, list) and len(new) >= len(old) and all(map(_is_kept, old, new))
    if isinstance(old, dict):
        return isinstance(new, dict) and all(key in new and _is_kept(old[key], new[key]) for key in old)
    return bool(old == new) or (old != old and new != new)  # NaN


def _same_array(old: Tensor, new: Tensor) -> bool:
    if old.dtype != new.dtype or old.ndim != new.ndim or old.device != new.device:
        return False
    if old.shape != new.shape:
        if any(before > after for before, after in zip(old.shape, new.shape, strict=True)):
            return False
        new = new[tuple(slice(size) for size in old.shape)]
    return bool(((old == new) | ((old != old) & (new != new))).all())
