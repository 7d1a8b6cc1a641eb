"""Listening to a model's attention modules while it runs."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multihead.batch import PairBatch, Source

Kind = Literal["encoder self", "decoder self", "cross", "self"]
"""Who looks at whom: source at source, target at target, target at source; or, in a model that reads but one
sequence, this at itself."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an attention module, or several joined along the queries. Axes as in ``multihead.batch``.

    ``kind`` is what the module says that it is; None: nothing.
    """

    module: str
    kind: Kind | None
    weights_BHQK: Tensor
    allowed_BHQK: Tensor | None
    q_BHQd: Tensor
    k_BHKd: Tensor
    v_BHKd: Tensor


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode inside the block; after it every module is in its own mode again."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


@contextmanager
def listening(model: nn.Module) -> Iterator[list[Call]]:
    """Note every call of an attention module inside the block, in order; afterwards no hook is left."""
    made: list[Call] = []
    hooks = [
        module.register_forward_pre_hook(_noting(name, made), with_kwargs=True)
        for name, module in model.named_modules()
        if callable(getattr(module, "weights", None))
    ]
    try:
        yield made
    finally:
        for hook in hooks:
            hook.remove()


def _noting(name: str, made: list[Call]) -> Callable[..., None]:
    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
        q, k, allowed = given["q"], given["k"], given.get("allowed")
        if callable(own := getattr(module, "mask", None)):
            allowed = own(q, k)  # a module that brings its own layout says what it is
        weights: Tensor = module.weights(q, k, allowed)  # type: ignore[operator]
        if allowed is not None:
            allowed = allowed.broadcast_to(weights.shape)
        made.append(Call(name, getattr(module, "kind", None), weights, allowed, q, k, given["v"]))

    return hook


def wholes(made: Sequence[Call]) -> list[Call]:
    """Join the calls of a module that took one query at a time; leave the others as they are.

    The calls stay in the order in which the modules were first called.
    """
    names = list(dict.fromkeys(call.module for call in made))
    by_module = sorted(made, key=lambda call: names.index(call.module))
    found: list[Call] = []
    for _, group in groupby(by_module, key=lambda call: (call.module, call.weights_BHQK.shape[2] == 1)):
        parts = list(group)
        found.extend([_joined(parts)] if parts[0].weights_BHQK.shape[2] == 1 else parts)
    return found


def _joined(parts: Sequence[Call]) -> Call:
    first = parts[0]
    allowed = [part.allowed_BHQK for part in parts if part.allowed_BHQK is not None]
    return Call(
        first.module,
        first.kind,
        torch.cat([part.weights_BHQK for part in parts], dim=2),
        torch.cat(allowed, dim=2) if allowed else None,
        torch.cat([part.q_BHQd for part in parts], dim=2),
        first.k_BHKd,
        first.v_BHKd,
    )


def told_apart(batch: PairBatch) -> PairBatch:
    """Pad a batch so that its shapes tell source from target, and a whole sentence from one step.

    Both widths end above 1, and different.
    """
    source, target = batch.source.ids_BS, batch.target_BT
    if target.shape[1] - 1 < 2:
        target = F.pad(target, (0, 1))
    while source.shape[1] < 2 or source.shape[1] == target.shape[1] - 1:
        source = F.pad(source, (0, 1))
    return PairBatch(Source(source, batch.source.lengths_B), target, batch.target_lengths_B, batch.tokens)


def kind_by_shape(call: Call, batch: PairBatch) -> Kind:
    """Tell who looks at whom in a batch that :func:`told_apart` made.

    Raises:
        ValueError: queries or keys are as many as neither side's positions.
    """
    S, T = batch.source.ids_BS.shape[1], batch.target_in.shape[1]
    kinds: dict[tuple[int, ...], Kind] = {(S, S): "encoder self", (T, T): "decoder self", (T, S): "cross"}
    Q, K = call.weights_BHQK.shape[2:]
    if (Q, K) not in kinds:
        raise ValueError(
            f"{call.module} takes {Q} queries and {K} keys where the source has {S} positions "
            f"and the target {T}; let the module name its kind"
        )
    return kinds[Q, K]
