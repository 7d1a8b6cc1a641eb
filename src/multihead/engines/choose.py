"""Choice of a model's search engine: the first that accepts its description and proves itself on an example.

If none does, search uses the model's own steps; the log and ``multihead doctor RUN`` give the reason.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import nn

from multihead.batch import PairBatch
from multihead.engines import layers
from multihead.engines.cuda.graphs import GraphTransformer
from multihead.engines.layer_state import LayerState
from multihead.engines.native import layers as native_layers
from multihead.engines.proof import disagreement
from multihead.engines.transformer import LaidOutTransformer
from multihead.errors import UserError
from multihead.nn.description import EncoderDecoderSpec, UndescribedError, describe
from multihead.search.consistency import inconsistency, warn
from multihead.search.stepper import Stepper
from multihead.system import native

LOG = logging.getLogger(__name__)
NATIVE = "native kernels"
OWN_STEPS = "the model's own steps"
"""Name of the fallback for a model that no engine accepts."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A fast implementation of a model's search steps.

    Attributes:
        name: as ``multihead doctor`` prints it.
        device: the device type that it runs on.
        declines: (description, dtype of matrix products) -> the reason for declining; None: it accepts.
        lay_out: (model, description, dtype) -> the stepper.
    """

    name: str
    device: str
    declines: Callable[[EncoderDecoderSpec, torch.dtype], str | None]
    lay_out: Callable[[nn.Module, EncoderDecoderSpec, torch.dtype], Stepper[Any]]


ENGINES = (
    Engine(
        NATIVE,
        "cpu",
        lambda spec, dtype: native_layers.declines(spec),
        lambda model, spec, dtype: LaidOutTransformer(spec, dtype, native=True),
    ),
    Engine(
        "laid-out layers",
        "cpu",
        layers.declines,
        lambda model, spec, dtype: LaidOutTransformer(spec, dtype, native=False),
    ),
    Engine(
        "CUDA graphs",
        "cuda",
        layers.declines_on_gpu,
        lambda model, spec, dtype: GraphTransformer(cast(Any, model), spec, dtype),
    ),
)
"""All engines, in the order of preference."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine chosen for a model.

    Attributes:
        stepper: the stepper that search uses.
        engine: name of the engine, or ``OWN_STEPS``.
        declined: the reasons of the engines of this device that declined, by name.
        refuted: those of them whose example differed from the model's own steps.
    """

    stepper: Stepper[Any]
    engine: str
    declined: Mapping[str, str]
    refuted: Mapping[str, str] = field(default_factory=dict)


@torch.no_grad()
def choose(
    model: nn.Module,
    device: torch.device,
    dtype: torch.dtype,
    refuted: Mapping[str, str] | None = None,
) -> EngineChoice:
    """Lay out a model's current weights for the first engine that accepts it.

    Args:
        model: has steps of its own (``search.Stepper``).
        device: the model's device.
        dtype: of matrix products.
        refuted: engines that an earlier proof with this model refuted, and the reasons; None: prove again.
    """
    stepper = cast(Stepper[Any], model)
    declined: dict[str, str] = {}
    reasons: dict[str, str] = {}
    engines = [engine for engine in ENGINES if engine.device == device.type]
    try:
        spec = describe(model, EncoderDecoderSpec)
    except UndescribedError as error:
        return EngineChoice(stepper, OWN_STEPS, {engine.name: str(error) for engine in engines})
    for engine in engines:
        reason = engine.declines(spec, dtype) or (refuted or {}).get(engine.name)
        if reason is None and refuted is None:
            # In float32, so that rounding cannot explain a difference.
            proved = engine.lay_out(model, spec, torch.float32)
            reason = disagreement(model, proved, device, spec)
            if reason is not None:
                reasons[engine.name] = reason
                LOG.warning("Search does not run by %s: %s", engine.name, reason)
        if reason is None:
            return EngineChoice(engine.lay_out(model, spec, dtype), engine.name, declined, refuted or reasons)
        declined[engine.name] = reason
    return EngineChoice(stepper, OWN_STEPS, declined, refuted or reasons)


class LatestStepper:
    """A model's stepper by the chosen engine, laid out again whenever the weights change.

    Layers that are exchanged, get a hook or have their class edited are noticed too: the engines are then
    proved again, and so is that training and search compute the same.

    Args:
        model: has steps of its own (``search.Stepper``).
        device: the model's device.
        dtype: of matrix products.
        pairs: the example for ``search.consistency``; None: no comparison.

    Attributes:
        inconsistent: how training and search differ; None: they agree.

    Raises:
        UserError: int8 without native kernels, or not on a CPU.
    """

    def __init__(
        self, model: nn.Module, device: torch.device, dtype: torch.dtype, pairs: PairBatch | None = None
    ) -> None:
        self.model, self._device, self._dtype, self._pairs = model, device, dtype, pairs
        self.inconsistent: str | None = None
        self._compared = False
        self._made: EngineChoice | None = None
        self._layers: LayerState | None = None
        self._weights: object = None
        if dtype == torch.int8 and (device.type != "cpu" or not native.level()):
            raise _no_int8("it needs a CPU and the native part of the installation")

    def stepper(self) -> Stepper[Any]:
        """Return the stepper of the current weights.

        Raises:
            UserError: int8 for a model that the native kernels decline.
        """
        return self.choice().stepper

    def choice(self) -> EngineChoice:
        """Return the engine of the current weights; raises as :meth:`stepper`."""
        weights = [
            (id(parameter), parameter.data_ptr(), parameter._version) for parameter in self.model.parameters()
        ]
        unchanged = self._layers is not None and self._layers.holds()
        if self._made is None or not unchanged or self._weights != weights:
            # A proof stays valid when only the weights change.
            refuted = self._made.refuted if self._made is not None and unchanged else None
            self._made = choose(self.model, self._device, self._dtype, refuted)
            self._weights = weights
            if not unchanged:
                self._compared = self._compared and self._layers is None
                self._layers = LayerState(self.model)
                self.compare()
                _log(self._made)
        if self._made.engine == OWN_STEPS and self._dtype == torch.int8:
            reasons = ", ".join(self._made.declined.values())
            raise _no_int8(f"no engine with int8 products accepts this model ({reasons})")
        return self._made

    def compare(self) -> None:
        """Compare training and search, unless that is done; warn if they differ."""
        if not self._compared and self._pairs is not None:
            self.inconsistent = inconsistency(self.model, self._pairs, self._device)
        self._compared = True
        warn(self.model, self.inconsistent)


def _log(choice: EngineChoice) -> None:
    for name, reason in choice.declined.items():
        LOG.info("Search does not run by %s: %s", name, reason)
    LOG.info("Search runs by %s", choice.engine)


def _no_int8(fact: str) -> UserError:
    return UserError(
        f"no translation in int8: {fact}",
        remedy="Leave the precision at auto; `multihead doctor RUN` names the engine and the reason.",
    )
