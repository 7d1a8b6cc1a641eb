"""Trace of a forward pass: which modules and weights compute which tensors, in order, from which inputs.

Forward hooks see every call of a module, and a ``TorchFunctionMode`` every function that reads a weight, so
that a cell whose weights a decoder reads step by step is seen as well.
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
"""Functions whose output depends on no number of their input."""
Weight = tuple[str, str]
"""A weight of a unit: the unit's path, and the weight's name in it."""
TARGET = -1
"""The origin of what depends on the target ids."""


@dataclass(slots=True)
class Use:
    """One use of a module: a call, or functions that read its weights outside a call.

    Attributes:
        module: path in the model.
        shape: of the output, without the axis of a batch of one.
        widest: the widest vector that a matrix of the module makes.
        origins: uses whose outputs it reads, as indices; ``TARGET`` if it depends on the target ids.
        inside: path of the container around it, of those to report.
        integers: whether its input is ids.
        called: whether it is a call.
        weights: names in the module of the weights that a use outside a call reads.
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
        self._made_of: Any = WeakIdKeyDictionary()
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
        """Run a function and note what it read."""
        made = func(*args, **(kwargs or {}))
        if get_ident() == self._thread and getattr(func, "__name__", "") not in CONSTANTS:
            self._note(list(tensors((args, kwargs or {}))), made)
        return made

    def _note(self, given: list[Tensor], made: Any) -> None:
        weights = [self._weights_in(one) for one in given]
        read: frozenset[Weight] = frozenset().union(*weights)
        data = [one for one, of_weights in zip(given, weights, strict=True) if not of_weights]
        outputs = list(tensors(made))
        if not data:  # a weight of another form: transposed, normalised
            for one in outputs if read else ():
                self._made_of[one] = read
            return
        if not outputs:
            return
        origins = self._of(data)
        if read and not self._active:
            path = min(read)[0]
            use = self._begin(path, data)
            self.uses[use].called = False
            self.uses[use].weights = {name for unit, name in read if unit == path}
            self.uses[use].widest = outputs[0].shape[-1] if outputs[0].dim() else 0
            self._end(use, made)
            return
        if self._active:
            use = self._active[-1]
            self.uses[use].origins |= origins - {use}
            if read and outputs[0].is_floating_point() and outputs[0].dim():
                self.uses[use].widest = max(self.uses[use].widest, outputs[0].shape[-1])
        written = {id(one) for one in data}
        for one in outputs:
            # A function that writes into its input leaves what the input came from.
            self._origins[one] = origins | self._of([one]) if id(one) in written else origins

    def _weights_in(self, given: Tensor) -> frozenset[Weight]:
        owner = self._owners.get(id(given))
        made_of: frozenset[Weight] = self._made_of.get(given, frozenset())
        return made_of if owner is None else frozenset({owner})

    def _of(self, given: list[Tensor]) -> frozenset[int]:
        return frozenset().union(*(self._origins.get(one, frozenset()) for one in given))

    def _begin(self, path: str, given: list[Tensor]) -> int:
        origins = self._of(given)
        ids = bool(given) and not given[0].is_floating_point()
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

        def leave(_: nn.Module, args: Any, kwargs: Any, made: Any) -> None:
            if get_ident() == self._thread:
                use = self._active.pop()
                if not self._active:
                    self._end(use, made)

        yield module.register_forward_pre_hook(enter, with_kwargs=True)
        yield module.register_forward_hook(leave, with_kwargs=True)

    def _watch_container(self, path: str, module: nn.Module) -> Iterator[Any]:
        own = {unit for unit, _ in self._owners.values() if unit.startswith(path + ".")}

        def enter(_: nn.Module, args: Any, kwargs: Any) -> None:
            if get_ident() == self._thread:
                self._inside.append((path, len(self.uses)))

        def leave(_: nn.Module, args: Any, kwargs: Any, made: Any) -> None:
            if get_ident() != self._thread:
                return
            # A kernel may add and normalise in one pass, which neither a hook nor a function shows.
            before = self._inside[-1][1]
            for unit in own - {use.module for use in self.uses[before:]}:
                use = self._begin(unit, [])
                self.uses[use].origins |= set(range(before, use)) | self._of(list(tensors((args, kwargs))))
                self.uses[use].origins |= {TARGET} & set().union(
                    *(one.origins for one in self.uses[before:use])
                )
                self._end(use, made)
            self._inside.pop()

        yield module.register_forward_pre_hook(enter, with_kwargs=True)
        yield module.register_forward_hook(leave, with_kwargs=True)

    def _end(self, use: int, made: Any) -> None:
        self.uses[use].shape = _shape(made)
        origin = frozenset({use} | ({TARGET} & self.uses[use].origins))
        for one in tensors(made):
            self._origins[one] = origin


def trace(
    model: nn.Module,
    run: Callable[[Any], object],
    unit_of: dict[str, str],
    around: set[str],
    target: Tensor | None = None,
) -> list[Use]:
    """Run a model once, as ``record`` does, and return the uses of its units in order; see :class:`Trace`."""

    def traced(plain: nn.Module) -> list[Use]:
        found = Trace(plain, unit_of, around, target)
        try:
            with found:
                run(plain)
        finally:
            found.remove()
        return found.uses

    return in_its_formats(model, traced)


def tensors(found: Any) -> Iterator[Tensor]:
    """Yield the tensors of nested tuples, lists and dicts."""
    if isinstance(found, Tensor):
        yield found
    elif isinstance(found, (tuple, list)):
        for one in found:
            yield from tensors(one)
    elif isinstance(found, dict):
        yield from tensors(list(found.values()))


def _shape(made: Any) -> tuple[int, ...]:
    first = made[0] if isinstance(made, tuple) and made and isinstance(made[0], PackedSequence) else made
    if isinstance(first, PackedSequence):
        return tuple(first.data.shape)
    found = next((one for one in tensors(made) if one.is_floating_point()), None)
    if found is None:
        return ()
    shape = tuple(found.shape)
    return shape[1:] if len(shape) > 1 and shape[0] == 1 else shape
