"""Trace of a forward pass: which modules and weights compute which tensors, in order, from which inputs.

Forward hooks see every call of a module. A ``TorchFunctionMode`` sees every function that reads a weight, and
so also cells whose weights a decoder reads step by step.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from multihead.inspect.maps.calls import in_its_formats

CONSTANTS = (
    "new_zeros",
    "new_ones",
    "new_full",
    "new_empty",
    "zeros_like",
    "ones_like",
    "full_like",
    "empty_like",
)
"""Functions whose output does not depend on the values of their input."""
Weight = tuple[str, str]
"""A weight of a unit: the unit's path, and the weight's name in it."""
TARGET = -1
"""The origin of tensors that depend on the target ids."""


@dataclass(slots=True)
class Use:
    """One use of a module: a call, or functions that read its weights outside a call.

    Attributes:
        module: path in the model.
        shape: shape of the output, without the axis of a batch of one.
        widest: width of the widest vector that a matrix of the module computes.
        origins: indices of the uses whose outputs it reads; ``TARGET`` if it depends on the target ids.
        inside: path of the reported container around it.
        integers: whether its input consists of ids.
        called: whether it is a call.
        weights: for a use outside a call, the names of the weights it reads.
    """

    module: str
    shape: tuple[int, ...] = ()
    widest: int = 0
    origins: set[int] = field(default_factory=set)
    inside: str = ""
    integers: bool = False
    called: bool = True
    weights: set[str] = field(default_factory=set)


class Trace(TorchFunctionMode):
    """Records the uses of the units of a model during a forward pass of a batch of one.

    Args:
        model: the model that runs.
        unit_of: by path of a module, the path of the unit that it belongs to; other modules are containers.
        around: paths of containers to report as ``Use.inside``.
        target: the target ids; None: a model with a single sequence.
    """

    def __init__(
        self, model: nn.Module, unit_of: dict[str, str], around: set[str], target: Tensor | None
    ) -> None:
        super().__init__()
        self.uses: list[Use] = []
        self._thread = get_ident()
        self._owners = {
            id(parameter): (path, name)
            for path in dict.fromkeys(unit_of.values())
            for name, parameter in model.get_submodule(path).named_parameters()
        }
        self._origins: Any = WeakIdKeyDictionary()
        self._weights_of: Any = WeakIdKeyDictionary()
        if target is not None:
            self._origins[target] = frozenset({TARGET})
        self._active: list[int] = []
        self._inside: list[tuple[str, int]] = []
        self._hooks = [
            hook
            for path, module in model.named_modules()
            if path in around or unit_of.get(path) == path
            for hook in (self._watch_container if path in around else self._watch)(path, module)
        ]

    def remove(self) -> None:
        """Remove the hooks."""
        for hook in self._hooks:
            hook.remove()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run a function and note which tensors it read."""
        output = func(*args, **(kwargs or {}))
        if get_ident() == self._thread and getattr(func, "__name__", "") not in CONSTANTS:
            self._note(list(tensors((args, kwargs or {}))), output)
        return output

    def _note(self, inputs: list[Tensor], output: Any) -> None:
        weights = [self._weights_in(tensor) for tensor in inputs]
        used: frozenset[Weight] = frozenset().union(*weights)
        data = [tensor for tensor, of_tensor in zip(inputs, weights, strict=True) if not of_tensor]
        outputs = list(tensors(output))
        if not data:  # a weight in another form: transposed, normalised
            for tensor in outputs if used else ():
                self._weights_of[tensor] = used
            return
        if not outputs:
            return
        origins = self._origins_of(data)
        if used and not self._active:
            path = min(used)[0]
            use = self._begin(path, data)
            self.uses[use].called = False
            self.uses[use].weights = {name for unit, name in used if unit == path}
            self.uses[use].widest = outputs[0].shape[-1] if outputs[0].dim() else 0
            self._end(use, output)
            return
        if self._active:
            use = self._active[-1]
            self.uses[use].origins |= origins - {use}
            if used and outputs[0].is_floating_point() and outputs[0].dim():
                self.uses[use].widest = max(self.uses[use].widest, outputs[0].shape[-1])
        data_ids = {id(tensor) for tensor in data}
        for tensor in outputs:
            # A function that writes into its input keeps the origins of the input.
            self._origins[tensor] = (
                origins | self._origins_of([tensor]) if id(tensor) in data_ids else origins
            )

    def _weights_in(self, tensor: Tensor) -> frozenset[Weight]:
        owner = self._owners.get(id(tensor))
        weights: frozenset[Weight] = self._weights_of.get(tensor, frozenset())
        return weights if owner is None else frozenset({owner})

    def _origins_of(self, inputs: list[Tensor]) -> frozenset[int]:
        return frozenset().union(*(self._origins.get(tensor, frozenset()) for tensor in inputs))

    def _begin(self, path: str, inputs: list[Tensor]) -> int:
        origins = self._origins_of(inputs)
        ids = bool(inputs) and not inputs[0].is_floating_point()
        inside = self._inside[-1][0] if self._inside else ""
        self.uses.append(Use(path, origins=set(origins), inside=inside, integers=ids))
        return len(self.uses) - 1

    def _watch(self, path: str, module: nn.Module) -> Iterator[Any]:
        def enter(_: nn.Module, args: Any, kwargs: Any) -> None:
            if get_ident() == self._thread:
                first = not self._active
                self._active.append(
                    self._begin(path, list(tensors((args, kwargs)))) if first else self._active[-1]
                )

        def leave(_: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            if get_ident() == self._thread:
                use = self._active.pop()
                if not self._active:
                    self._end(use, output)

        yield module.register_forward_pre_hook(enter, with_kwargs=True)
        yield module.register_forward_hook(leave, with_kwargs=True)

    def _watch_container(self, path: str, module: nn.Module) -> Iterator[Any]:
        units = {unit for unit, _ in self._owners.values() if unit.startswith(path + ".")}

        def enter(_: nn.Module, args: Any, kwargs: Any) -> None:
            if get_ident() == self._thread:
                self._inside.append((path, len(self.uses)))

        def leave(_: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            if get_ident() != self._thread:
                return
            # A kernel may add and normalise in one pass, which neither a hook nor a function shows.
            before = self._inside[-1][1]
            for unit in units - {use.module for use in self.uses[before:]}:
                use = self._begin(unit, [])
                origins = set().union(*(earlier.origins for earlier in self.uses[before:use]))
                self.uses[use].origins |= set(range(before, use)) | ({TARGET} & origins)
                self.uses[use].origins |= self._origins_of(list(tensors((args, kwargs))))
                self._end(use, output)
            self._inside.pop()

        yield module.register_forward_pre_hook(enter, with_kwargs=True)
        yield module.register_forward_hook(leave, with_kwargs=True)

    def _end(self, use: int, output: Any) -> None:
        self.uses[use].shape = _shape(output)
        origin = frozenset({use} | ({TARGET} & self.uses[use].origins))
        for tensor in tensors(output):
            self._origins[tensor] = origin


def trace(
    model: nn.Module,
    run: Callable[[Any], object],
    unit_of: dict[str, str],
    around: set[str],
    target: Tensor | None = None,
) -> list[Use]:
    """Run a model once, as ``record`` does, and return the uses of its units in order; see :class:`Trace`."""

    def run_traced(plain: nn.Module) -> list[Use]:
        tracer = Trace(plain, unit_of, around, target)
        try:
            with tracer:
                run(plain)
        finally:
            tracer.remove()
        return tracer.uses

    return in_its_formats(model, run_traced)


def tensors(values: Any) -> Iterator[Tensor]:
    """Yield the tensors of nested tuples, lists and dicts."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from tensors(value)
    elif isinstance(values, dict):
        yield from tensors(list(values.values()))


def _shape(output: Any) -> tuple[int, ...]:
    packed = (
        output[0]
        if isinstance(output, tuple) and output and isinstance(output[0], PackedSequence)
        else output
    )
    if isinstance(packed, PackedSequence):
        return tuple(packed.data.shape)
    tensor = next((tensor for tensor in tensors(output) if tensor.is_floating_point()), None)
    if tensor is None:
        return ()
    shape = tuple(tensor.shape)
    return shape[1:] if len(shape) > 1 and shape[0] == 1 else shape
