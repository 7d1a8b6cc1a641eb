"""The model as a data flow: the parts that a sentence passes through, in order, with their measured sizes.

One forward pass over the page's sentence gives the parts, their order, their vectors and their inputs
(``maps.tracing``); the parameters are counted in the model.
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
        model: the model.
        run: feeds the sequence, a batch of one, to a model (which may be an fp32 copy).
        records: its recorded attention.
        target: the model's target input ids; None: a model with a single sequence.
    """
    unit_of = units(model)
    around = {path for path, module in model.named_modules() if is_residual(module)}
    uses = trace(model, run, unit_of, around, target)
    sizes = {id(parameter): parameter.numel() for parameter in model.parameters()}
    used = {id(p) for use in uses for p in model.get_submodule(use.module).parameters()}
    return {
        "parts": list(_parts(model, uses, records)),
        "parameters": sum(sizes.values()),
        "elsewhere": sum(size for key, size in sizes.items() if key not in used),
    }


def units(model: nn.Module) -> dict[str, str]:
    """Return the unit of every module that belongs to one: an attention, a feed-forward network, a norm ...

    A module of an unknown class is a unit if it has weights and no submodules.
    """
    out: dict[str, str] = {}

    def walk(path: str, module: nn.Module) -> None:
        if path and role_of(module):
            out.update({".".join(filter(None, [path, name])): path for name, _ in module.named_modules()})
            return
        for name, child in module.named_children():
            walk(f"{path}.{name}" if path else name, child)

    walk("", model)
    return out


@dataclass(slots=True)
class _UnitUses:
    """All uses of a unit on one side: a step-wise decoder uses it once per token.

    Attributes:
        use: the first use.
        target: whether it is on the target side.
        numbers: indices of the uses.
        reads: for a part of the target side, the parts of the source side that it reads.
    """

    use: Use
    target: bool
    numbers: list[int] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)


def _merge(uses: Sequence[Use]) -> list[_UnitUses]:
    """Return the parts, source side first."""
    sides = _sides(uses)
    by_key: dict[tuple[str, bool, bool, bool], _UnitUses] = {}
    for number in sorted(range(len(uses)), key=sides.__getitem__):
        use = uses[number]
        key = use.module, use.called, use.integers, sides[number]
        by_key.setdefault(key, _UnitUses(use, sides[number])).numbers.append(number)
    parts = list(by_key.values())
    part_of = {number: place for place, part in enumerate(parts) for number in part.numbers}
    for part in parts:
        origins = set().union(*(uses[number].origins for number in part.numbers)) - {TARGET}
        places = {part_of[origin] for origin in origins}
        part.reads = {place for place in places if part.target and not parts[place].target}
    return parts


def _sides(uses: Sequence[Use]) -> list[bool]:
    """Return for each use whether it is on the target side.

    A use that depends on the target ids is. So is a use that only such uses read, if it has no inputs (as
    positions added to embeddings) or is a unit of that side before the first token.
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
        parameters = dict(module.named_parameters())
        if not part.use.called:
            weights = set().union(*(uses[number].weights for number in part.numbers))
            parameters = {name: parameter for name, parameter in parameters.items() if name in weights}
        new = {id(p): p.numel() for p in parameters.values() if id(p) not in counted}
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
            "shared": bool(parameters) and not new,
            "tensors": [[name, list(parameter.shape)] for name, parameter in parameters.items()],
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
    """Return (positions, width); a part that runs once per token has a position per call."""
    *positions, width = part.use.shape or (0,)
    lengths = [length for length in positions if length != 1]
    return [len(part.numbers), width] if len(part.numbers) > 1 and not lengths else [*lengths, width]


def _layer(model: nn.Module, path: str) -> str:
    """Return the path of the layer that a unit is or belongs to, the outermost element of a list; or ""."""
    names = path.split(".")
    for end in range(1, len(names) + 1):
        if isinstance(model.get_submodule(".".join(names[: end - 1])), nn.ModuleList):
            return ".".join(names[:end])
    return ""


def _attention(use: Use, records: Sequence[AttentionRecord]) -> Json | None:
    for record in records:
        if (record.module + ".").startswith(use.module + "."):
            return {
                "kind": record.kind,
                "layer": record.layer,
                "heads": record.num_heads,
                "d_k": None if record.q_BHQd is None else record.q_BHQd.shape[-1],
                "queries": int(record.query_lengths_B[0]),
                "keys": int(record.key_lengths_B[0]),
            }
    return None
