"""Serialise the state of any PyTorch optimiser to tensors and JSON, and restore it bit for bit.

``Optimizer.load_state_dict`` is not used, because it casts the state to the parameter's dtype.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor, nn

from multihead.errors import UserError

PREFIX = "optimizer."
SCHEDULED = ("params", "lr")
"""Entries of a parameter group that the training loop sets itself."""

Plain = bool | int | float | str | None
"""Values that JSON holds exactly."""

COMPLETE = ({"step", "exp_avg", "exp_avg_sq"}, {"momentum"})
"""Entries of a parameter under Adam or AdamW, and under Muon."""


class _Description(BaseModel):
    """The JSON part of an optimiser's state: plain values, and the shapes of the tensors."""

    model_config = ConfigDict(strict=True, extra="forbid")

    kind: str
    tensors: dict[str, list[int]]
    """Shape of each tensor."""
    values: dict[str, Plain]
    groups: list[dict[str, Plain | list[Plain]]]
    """For each parameter group, the entries that have changed since the optimiser was created."""


class OptimizerState:
    """The state of an optimiser for checkpoints.

    Entries are named ``optimizer.<entry>.<parameter>``. Tensors are saved with the weights; numbers, strings
    and None are saved in the description.

    Args:
        optimizer: the optimiser, before its first update.
        model: the model whose parameters it trains.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, model: nn.Module) -> None:
        self.optimizer, self.model = optimizer, model
        self._initial = [
            {key: copy.deepcopy(value) for key, value in group.items() if key not in SCHEDULED}
            for group in optimizer.param_groups
        ]

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors of the state by name.

        Raises:
            UserError: the state has a value that is neither a tensor nor plain.
        """
        return {name: value for name, value in self._entries() if isinstance(value, Tensor)}

    def description(self) -> dict[str, Any]:
        """Return the rest of the state for JSON: the optimiser's class, the tensors' shapes, plain values.

        Raises:
            UserError: see :meth:`tensors`.
        """
        entries = dict(self._entries())
        return {
            "kind": type(self.optimizer).__name__,
            "tensors": {n: list(value.shape) for n, value in entries.items() if isinstance(value, Tensor)},
            "values": {n: value for n, value in entries.items() if not isinstance(value, Tensor)},
            "groups": [dict(self._changes(number)) for number in range(len(self._initial))],
        }

    def load(self, tensors: Mapping[str, Tensor], description: Any) -> None:
        """Restore what :meth:`tensors` and :meth:`description` returned.

        Args:
            tensors: all tensors of the checkpoint; those with other prefixes are ignored.
            description: the description; None for a checkpoint of an earlier version.

        Raises:
            ValueError: a tensor is missing, unknown or of another shape; it is the state of another
                optimiser.
        """
        own = {name: value for name, value in tensors.items() if name.startswith(PREFIX)}
        parameters = dict(self.model.named_parameters())
        if description is None:
            described = self._without_description(own, parameters)
        else:
            described = self._check(description, own)
            self.optimizer.state.clear()
        for name, value in {**own, **described.values}.items():
            entry, _, parameter = name.removeprefix(PREFIX).partition(".")
            if not name.startswith(PREFIX) or parameter not in parameters:
                raise ValueError(f"not the state of this model: {name} belongs to no parameter")
            of = parameters[parameter]
            if isinstance(value, Tensor):
                value = value.to(self._device(entry, of), copy=True)
            self.optimizer.state[of][entry] = value
        for group, initial, changed in zip(
            self.optimizer.param_groups, self._initial, described.groups, strict=True
        ):
            for key, plain in changed.items():
                as_tuple = isinstance(plain, list) and isinstance(initial.get(key), tuple)
                group[key] = tuple(plain) if as_tuple else plain  # type: ignore[arg-type]

    def _entries(self) -> Iterator[tuple[str, Tensor | Plain]]:
        names: dict[Tensor, str] = {p: name for name, p in self.model.named_parameters()}
        for parameter, entries in self.optimizer.state.items():
            for entry, value in entries.items():
                if parameter not in names or "." in entry or not isinstance(value, Tensor | Plain):
                    raise self._unsaved_error(entry, value)
                yield f"{PREFIX}{entry}.{names[parameter]}", value

    def _changes(self, number: int) -> Iterator[tuple[str, Plain | list[Plain]]]:
        initial = self._initial[number]
        for key, value in self.optimizer.param_groups[number].items():
            if key in SCHEDULED or (key in initial and _same(initial[key], value)):
                continue
            plain = list(value) if isinstance(value, list | tuple) else value
            if not all(isinstance(item, Plain) for item in (plain if isinstance(plain, list) else [plain])):
                raise self._unsaved_error(key, value)
            yield key, plain

    def _unsaved_error(self, entry: object, value: object) -> UserError:
        return UserError(
            f'the state of {type(self.optimizer).__name__} has "{entry}", a {type(value).__name__}, which '
            "cannot be saved in a checkpoint",
            place="training.optimizer",
            remedy="Use a tensor, a number, a string or None for each parameter of the model.",
        )

    def _device(self, entry: str, parameter: Tensor) -> torch.device:
        """Return an entry's device: "step" stays on the CPU unless the optimiser is fused or capturable."""
        group = next(g for g in self.optimizer.param_groups if any(p is parameter for p in g["params"]))
        on_cpu = entry == "step" and not (group.get("fused") or group.get("capturable"))
        return torch.device("cpu") if on_cpu else parameter.device

    def _check(self, found: Any, own: Mapping[str, Tensor]) -> _Description:
        try:
            described = _Description.model_validate(found)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise ValueError(f"malformed description of an optimiser: {where or 'the whole'}") from None
        kind = type(self.optimizer).__name__
        if described.kind != kind:
            raise ValueError(f"the saved state is that of {described.kind}, but the optimiser is {kind}")
        if len(described.groups) != len(self._initial):
            counts = f"{len(described.groups)} parameter groups, not {len(self._initial)}"
            raise ValueError(f"not the state of this optimiser: {counts}")
        for name, shape in described.tensors.items():
            check_shape(name, own, torch.Size(shape))
        if unknown := sorted(own.keys() - described.tensors.keys()):
            raise ValueError(f"not the state of this optimiser: {unknown[0]} is unknown")
        return described

    def _without_description(
        self, own: Mapping[str, Tensor], parameters: Mapping[str, Tensor]
    ) -> _Description:
        """Check the state of Adam, AdamW or Muon written by an earlier version, without a description."""
        found: dict[str, set[str]] = {}
        for name in own:
            entry, _, parameter = name.removeprefix(PREFIX).partition(".")
            found.setdefault(parameter, set()).add(entry)
            if parameter in parameters:
                check_shape(name, own, torch.Size() if entry == "step" else parameters[parameter].shape)
        for parameter, entries in found.items():
            if entries not in COMPLETE:
                kept = ", ".join(sorted(entries))
                raise ValueError(f"the optimiser's state of {parameter} is incomplete (only {kept})")
        return _Description(kind="", tensors={}, values={}, groups=[{} for _ in self._initial])


def _same(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return torch.equal(one, other)
    return type(one) is type(other) and one == other


def check_shape(name: str, tensors: Mapping[str, Tensor], shape: torch.Size) -> None:
    """Raise ``ValueError`` where a tensor of a saved state is missing or has another shape."""
    if name not in tensors or tensors[name].shape != shape:
        found = str(tuple(tensors[name].shape)) if name in tensors else "missing"
        raise ValueError(f"not the state of this model: {name} is {found}, not {tuple(shape)}")
