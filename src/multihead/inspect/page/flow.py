"""The model as a data flow: the parts that a sentence passes through, in order, with their measured sizes.

The parts, their order, their vectors and what reads what are those of one forward pass over the sentence of
the page (``attention_maps.tracing``); the parameters are counted in the model.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from multihead.inspect.maps import AttentionRecord
from multihead.inspect.maps.tracing import TARGET, Use, trace
from multihead.inspect.page.packing import Json
from multihead.inspect.page.roles import is_residual, role_of


def flow(
    model: nn.Module,
    run: Callable[[Any], object],
    records: Sequence[AttentionRecord],
    target: Tensor | None = None,
) -> Json:
    """Return the data flow of a model as page data.

    Args:
        model: any model that is inspected.
        run: feeds the sequence, a batch of one, to the model it is given (which may be an fp32 copy).
        records: its recorded attention.
        target: the target ids as the model reads them; None: a model with a single sequence.
    """
    unit_of = units(model)
    around = {path for path, module in model.named_modules() if is_residual(module)}
    uses = trace(model, run, unit_of, around, target)
    every = {id(one): one.numel() for one in model.parameters()}
    shown = {id(one) for use in uses for one in model.get_submodule(use.module).parameters()}
    return {
        "parts": list(_parts(model, uses, records)),
        "parameters": sum(every.values()),
        "elsewhere": sum(size for key, size in every.items() if key not in shown),
    }


def units(model: nn.Module) -> dict[str, str]:
    """Return the unit of every module that belongs to one: an attention, a feed-forward network, a norm ...

    A module of an unknown class is a unit if it has weights and no submodules.
    """
    found: dict[str, str] = {}

    def walk(path: str, module: nn.Module) -> None:
        if path and role_of(module):
            found.update({".".join(filter(None, [path, name])): path for name, _ in module.named_modules()})
            return
        for name, child in module.named_children():
            walk(f"{path}.{name}" if path else name, child)

    walk("", model)
    return found


@dataclass(slots=True)
class _UnitUses:
    """All uses of a unit on one side: a step-wise decoder uses it once per token.

    Attributes:
        use: the first.
        target: whether it is on the target side.
        numbers: of the uses.
        reads: parts of the source side that a part of the target side reads.
    """

    use: Use
    target: bool
    numbers: list[int] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)


def _merge(uses: Sequence[Use]) -> list[_UnitUses]:
    """Return the parts, those of the source side first."""
    sides = _sides(uses)
    found: dict[tuple[str, bool, bool, bool], _UnitUses] = {}
    for number in sorted(range(len(uses)), key=sides.__getitem__):
        use = uses[number]
        key = use.module, use.called, use.integers, sides[number]
        found.setdefault(key, _UnitUses(use, sides[number])).numbers.append(number)
    parts = list(found.values())
    part_of = {number: place for place, part in enumerate(parts) for number in part.numbers}
    for part in parts:
        read = {part_of[one] for number in part.numbers for one in uses[number].origins if one != TARGET}
        part.reads = {one for one in read if part.target and not parts[one].target}
    return parts


def _sides(uses: Sequence[Use]) -> list[bool]:
    """Return for each use whether it is on the target side.

    It is if it depends on the target ids. So is what only such uses read if it reads nothing itself, such as
    positions that are added to embeddings, or if it is a unit of that side before the first token.
    """
    dependent = [TARGET in use.origins for use in uses]
    units = {(use.module, use.called, use.integers) for use in uses if TARGET in use.origins}
    readers: defaultdict[int, list[bool]] = defaultdict(list)
    for number, use in enumerate(uses):
        for origin in use.origins:
            readers[origin].append(dependent[number])
    return [
        dependent[number]
        or (
            all(readers.get(number, [False]))
            and (not use.origins or (use.module, use.called, use.integers) in units)
        )
        for number, use in enumerate(uses)
    ]


def _parts(model: nn.Module, uses: Sequence[Use], records: Sequence[AttentionRecord]) -> Iterator[Json]:
    counted: set[int] = set()
    parts = _merge(uses)
    for part in parts:
        module = model.get_submodule(part.use.module)
        own = dict(module.named_parameters())
        if not part.use.called:
            read = set().union(*(uses[number].weights for number in part.numbers))
            own = {name: one for name, one in own.items() if name in read}
        new = {id(one): one.numel() for one in own.values() if id(one) not in counted}
        counted |= new.keys()
        yield {
            "role": _role(module, part.use, last=part is parts[-1]),
            "class": type(module).__name__,
            "module": part.use.module,
            "target": part.target,
            "layer": _layer(model, part.use.module),
            "residual": part.use.inside,
            "shape": _shape(part),
            "inner": max(uses[number].widest for number in part.numbers),
            "calls": len(part.numbers),
            "parameters": sum(new.values()),
            "shared": bool(own) and not new,
            "tensors": [[name, list(one.shape)] for name, one in own.items()],
            "reads": sorted(part.reads),
            "attention": _attention(part.use, records),
        }


def _role(module: nn.Module, use: Use, *, last: bool) -> str:
    role = role_of(module)
    name = use.module.rsplit(".")[-1]
    if role == "embedding" and ("positions" in name or name == "segments"):
        return "segments" if name == "segments" else "positions"
    if role == "attention" and not use.called:
        return "keys"
    makes_logits = role == "embedding" and not use.integers
    return "output" if makes_logits or (last and role == "linear") else role


def _shape(part: _UnitUses) -> list[int]:
    """Return positions by width; a part that runs once per token has as many positions as calls."""
    *positions, width = part.use.shape or (0,)
    kept = [one for one in positions if one != 1]
    return [len(part.numbers), width] if len(part.numbers) > 1 and not kept else [*kept, width]


def _layer(model: nn.Module, path: str) -> str:
    """Return the path of the layer that a unit is or belongs to, the outermost element of a list; or ""."""
    names = path.split(".")
    for end in range(1, len(names) + 1):
        if isinstance(model.get_submodule(".".join(names[: end - 1])), nn.ModuleList):
            return ".".join(names[:end])
    return ""


def _attention(use: Use, records: Sequence[AttentionRecord]) -> Json | None:
    return next((found for record in records for found in _measure(use, record)), None)


def _measure(use: Use, record: AttentionRecord) -> Iterator[Json]:
    if (record.module + ".").startswith(use.module + "."):
        yield {
            "kind": record.kind,
            "layer": record.layer,
            "heads": record.num_heads,
            "d_k": None if record.q_BHQd is None else record.q_BHQd.shape[-1],
            "queries": int(record.query_lengths_B[0]),
            "keys": int(record.key_lengths_B[0]),
        }
