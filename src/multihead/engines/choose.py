"""The engine that searches a model: the first that accepts its description and proves itself on an example.

Every other model is searched by its own steps, with the reason in the log and in ``multihead doctor RUN``.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import nn

from multihead import native
from multihead.engines import layers
from multihead.engines.cuda.graphs import GraphTransformer
from multihead.engines.native import layers as native_layers
from multihead.engines.proof import disagreement
from multihead.engines.transformer import LaidOutTransformer
from multihead.errors import UserError
from multihead.nn.description import EncoderDecoderSpec, UndescribedError, describe
from multihead.search.stepper import Stepper

LOG = logging.getLogger(__name__)
OWN_STEPS = "the model's own steps"
"""The name of what searches a model that no engine accepts."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A way of searching a model fast.

    Attributes:
        name: as ``multihead doctor`` prints it.
        device: the type of device that it runs on.
        declines: (description, dtype of matrix products) -> the reason against it; None: it accepts.
        lay_out: (model, description, dtype) -> the stepper.
    """

    name: str
    device: str
    declines: Callable[[EncoderDecoderSpec, torch.dtype], str | None]
    lay_out: Callable[[nn.Module, EncoderDecoderSpec, torch.dtype], Stepper[Any]]


ENGINES = (
    Engine(
        "native kernels",
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
        layers.declines,
        lambda model, spec, dtype: GraphTransformer(cast(Any, model), spec, dtype),
    ),
)
"""In the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine of a model.

    Attributes:
        stepper: what search steps.
        engine: its name, or ``OWN_STEPS``.
        declined: the reason of each engine of this device that was tried before, by its name.
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
) -> Choice:
    """Lay a model out, as its weights are now, for the first engine that accepts it.

    Args:
        model: has steps of its own (``search.Stepper``).
        device: where it is.
        dtype: of matrix products.
        refuted: the engines that an earlier proof with this model refuted, and how; None: prove anew.
    """
    own = cast(Stepper[Any], model)
    declined: dict[str, str] = {}
    found: dict[str, str] = {}
    engines = [engine for engine in ENGINES if engine.device == device.type]
    try:
        spec = describe(model, EncoderDecoderSpec)
    except UndescribedError as error:
        return Choice(own, OWN_STEPS, {engine.name: str(error) for engine in engines})
    for engine in engines:
        reason = engine.declines(spec, dtype) or (refuted or {}).get(engine.name)
        if reason is None and refuted is None:
            # In float32, so that a difference is the engine's and not the format's.
            proved = engine.lay_out(model, spec, torch.float32)
            reason = disagreement(model, proved, device, tokens=spec.smallest_vocabulary)
            if reason is not None:
                found[engine.name] = reason
                LOG.warning("Search does not run by %s: %s", engine.name, reason)
        if reason is None:
            return Choice(engine.lay_out(model, spec, dtype), engine.name, declined, refuted or found)
        declined[engine.name] = reason
    return Choice(own, OWN_STEPS, declined, refuted or found)


class LatestStepper:
    """A model's stepper by the engine that suits it, laid out anew when the weights change.

    Args:
        model: has steps of its own (``search.Stepper``).
        device: where it is.
        dtype: of matrix products.

    Raises:
        UserError: int8 without native kernels, or not on a CPU.
    """

    def __init__(self, model: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
        self._model, self._device, self._dtype = model, device, dtype
        self._parameters = list(model.parameters())
        self._made: Choice | None = None
        self._made_of: object = None
        self._level = ""
        if dtype == torch.int8 and (device.type != "cpu" or not native.level()):
            raise _no_int8("it needs a CPU, and the native part of the installation")

    def stepper(self) -> Stepper[Any]:
        """Return the stepper of the weights as they are now.

        Raises:
            UserError: int8 for a model that the native kernels decline.
        """
        return self.choice().stepper

    def choice(self) -> Choice:
        """Return the engine of the weights as they are now; see :meth:`stepper`."""
        level, weights = native.level(), [(each.data_ptr(), each._version) for each in self._parameters]
        if self._made is None or (level, weights) != self._made_of:
            # A proof holds for other weights of the same layers.
            refuted = self._made.refuted if self._made is not None and self._level == level else None
            self._made = choose(self._model, self._device, self._dtype, refuted)
            self._made_of, self._level = (level, weights), level
            if refuted is None:
                _log(self._made)
        if self._made.engine == OWN_STEPS and self._dtype == torch.int8:
            reasons = ", ".join(self._made.declined.values())
            raise _no_int8(f"no engine with int8 products accepts this model ({reasons})")
        return self._made


def _log(choice: Choice) -> None:
    for name, reason in choice.declined.items():
        LOG.info("Search does not run by %s: %s", name, reason)
    LOG.info("Search runs by %s", choice.engine)


def _no_int8(fact: str) -> UserError:
    return UserError(
        f"no translation in int8: {fact}",
        remedy="Leave the precision at auto; `multihead doctor RUN` names the engine and the reason.",
    )
