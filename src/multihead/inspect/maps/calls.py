"""Forward hooks that capture the calls of a model's attention modules."""

import copy
import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from threading import get_ident
from typing import Any, Literal, TypeVar, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multihead.batch import PairBatch, Source
from multihead.inspect.maps.records import Kind

LOG = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an attention module, or several concatenated along the queries.

    Axes as in ``multihead.batch``. ``kind`` is the kind that the module declares, or None.
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
    """Put a model into evaluation mode for a block, then restore the mode of each module."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


def in_its_formats(model: nn.Module, use: Callable[[nn.Module], T]) -> T:
    """Return ``use(model)`` in evaluation mode and fp32, or in the formats that its layers need.

    A layer that casts its inputs may need the formats of its weights; a layer that does not may need the
    autocast it was trained with.
    """
    failures: list[RuntimeError] = []
    for formats in _FORMATS:
        try:
            with _plainly(model, formats) as plain:
                return use(plain)
        except RuntimeError as error:
            failures.append(error)
            if "dtype" not in str(error):
                break
    raise failures[0]


Formats = Literal["fp32", "own", "autocast"]
_FORMATS: tuple[Formats, ...] = get_args(Formats)


@contextmanager
def _plainly(model: nn.Module, formats: Formats) -> Iterator[nn.Module]:
    """Yield the model, or its fp32 copy, in evaluation mode, eager and without gradients.

    A model whose hooks cast between its layers runs in its own formats.
    """
    dtypes = {p.dtype for p in model.parameters() if p.is_floating_point()}
    if formats == "fp32" and dtypes != {torch.float32} and not _has_hooks(model):
        model = copy.deepcopy(model).float()
    device = next(model.parameters()).device
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch.autocast(device.type, torch.bfloat16, enabled=formats == "autocast"))
        # `set_stance` would import the compiler, which takes seconds; until then nothing is compiled.
        if "torch._dynamo" in sys.modules:
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.enter_context(evaluating(model))
        yield model


def _has_hooks(model: nn.Module) -> bool:
    """Return whether a module has a hook other than those of a recording in another thread."""
    return any(
        not getattr(hook, "__module__", "").startswith("multihead.inspect.maps.")
        for part in model.modules()
        for hook in (*part._forward_pre_hooks.values(), *part._forward_hooks.values())
    )


@contextmanager
def capture(model: nn.Module) -> Iterator[list[Call]]:
    """Capture this thread's attention calls inside the block, in order; the hooks are removed at its end."""
    captured: list[Call] = []
    modules = [
        (name, module) for name, module in model.named_modules() if callable(getattr(module, "weights", None))
    ]
    hooks = [
        module.register_forward_pre_hook(_capture_hook(name, captured, get_ident()), with_kwargs=True)
        for name, module in modules
    ]
    doubtful = {type(module): module for _, module in modules if _inherits_weights(type(module))}
    hooks += [
        module.register_forward_hook(_warn_of_other_weights, with_kwargs=True)
        for module in doubtful.values()  # one module per class
    ]
    try:
        yield captured
    finally:
        for hook in hooks:
            hook.remove()


def _capture_hook(name: str, captured: list[Call], thread: int) -> Callable[..., None]:
    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if get_ident() == thread:
            captured.append(_call(name, module, args, kwargs))

    return hook


def _call(name: str, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    arguments = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    q, k, allowed = arguments["q"], arguments["k"], arguments.get("allowed")
    if callable(mask := getattr(module, "mask", None)):
        allowed = mask(q, k)  # a module with a sparse layout declares it here
    weights: Tensor = module.weights(q, k, allowed)
    if allowed is not None:
        allowed = allowed.broadcast_to(weights.shape)
    return Call(name, getattr(module, "kind", None), weights, allowed, q, k, arguments["v"])


def _inherits_weights(kind: type[nn.Module]) -> bool:
    """Return whether a class overrides ``forward`` but inherits ``weights``."""
    forward = next(base for base in kind.__mro__ if "forward" in vars(base))
    overriding = [base for base in kind.__mro__ if issubclass(base, forward)]
    return not any(name in vars(base) for base in overriding for name in ("weights", "scores"))


def _warn_of_other_weights(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor
) -> None:
    call = _call("", module, args, kwargs)
    if not torch.allclose(call.weights_BHQK @ call.v_BHKd, out, rtol=1e-3, atol=1e-3):
        LOG.warning(
            "%s computes other attention weights than it shows: its `forward` is its own, its `weights` "
            "are inherited. Give it a `weights(q, k, allowed)` of its own.",
            type(module).__name__,
        )


def join_steps(captured: Sequence[Call]) -> list[Call]:
    """Concatenate the single-query calls of a step-wise decoder, module by module; keep other calls.

    Modules stay in the order of their first call.
    """
    names = list(dict.fromkeys(call.module for call in captured))
    by_module = sorted(captured, key=lambda call: names.index(call.module))
    joined: list[Call] = []
    for _, group in groupby(by_module, key=lambda call: (call.module, call.weights_BHQK.shape[2] == 1)):
        parts = list(group)
        joined.extend([_concatenate(parts)] if parts[0].weights_BHQK.shape[2] == 1 else parts)
    return joined


def _concatenate(parts: Sequence[Call]) -> Call:
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


def pad_to_distinct_widths(batch: PairBatch) -> PairBatch:
    """Pad a batch until the source and target widths differ and both exceed 1.

    The shape of a call then determines its kind, and a full call is never mistaken for a single step.
    """
    source, target = batch.source.ids_BS, batch.target_BT
    if target.shape[1] - 1 < 2:
        target = F.pad(target, (0, 1))
    while source.shape[1] < 2 or source.shape[1] == target.shape[1] - 1:
        source = F.pad(source, (0, 1))
    return PairBatch(Source(source, batch.source.lengths_B), target, batch.target_lengths_B, batch.tokens)


def kind_by_shape(call: Call, batch: PairBatch) -> Kind:
    """Infer a call's kind from its shape; the batch is from :func:`pad_to_distinct_widths`.

    Raises:
        ValueError: the number of queries or keys matches neither side of the batch.
    """
    S, T = batch.source.ids_BS.shape[1], batch.target_in.shape[1]
    kinds: dict[tuple[int, ...], Kind] = {(S, S): "encoder self", (T, T): "decoder self", (T, S): "cross"}
    Q, K = call.weights_BHQK.shape[2:]
    if (Q, K) not in kinds:
        raise ValueError(
            f"{call.module} takes {Q} queries and {K} keys, but the source has {S} positions "
            f"and the target {T}; set the module's attribute `kind`"
        )
    return kinds[Q, K]
