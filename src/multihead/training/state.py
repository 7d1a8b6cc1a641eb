"""Everything that a training goes on from: weights, moments, moving average, and where it stands."""

import logging
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.run import Run
from multihead.run.numbers import check_numbers
from multihead.settings import OptimisationSettings
from multihead.training import optimizers
from multihead.training.averaging import MovingAverage
from multihead.training.computation import KERNELS, computation, differences
from multihead.training.optimizer_state import PREFIX, OptimizerState, check_shape
from multihead.training.progress import Progress

MODEL, EMA = "model.", "ema."
COMPUTATION, OPTIMIZER = "computation", "optimizer"
"""Entries of a state beside ``Progress``: what computed it, and the optimiser's description."""

LOG = logging.getLogger(__name__)


class State:
    """A model in training, with what belongs to it.

    Args:
        model: on its device.
        settings: of the training.
        device: where the model is.
    """

    def __init__(self, model: nn.Module, settings: OptimisationSettings, device: torch.device) -> None:
        self.model, self.device, self._precision = model, device, settings.precision
        self.optimizer = optimizers.make_optimizer(model, settings)
        self._optimizer_state = OptimizerState(self.optimizer, model)
        self.ema = MovingAverage(model, settings.ema) if settings.ema else None
        self.progress = Progress()

    def save(self, run: Run) -> None:
        """Write it as the run's newest state."""
        tensors = {MODEL + name: weight for name, weight in self.model.state_dict().items()}
        tensors |= self._optimizer_state.tensors()
        if self.ema:
            tensors |= {EMA + name: weight for name, weight in self.ema.weights.items()}
        described = {
            COMPUTATION: computation(self._precision, self.device),
            OPTIMIZER: self._optimizer_state.description(),
        }
        run.save_state(self.progress.step, tensors, {**self.progress.to_dict(), **described})

    def restore(self, run: Run) -> None:
        """Restore the run's newest state that is whole and fits, if any; remove the metrics of later steps.

        Raises:
            UserError: there are states, and none of them is whole and fits; there is a trained model, but no
                state.
        """
        if run.load_state(self._restore) is None and run.has_model:
            fact = "it holds a trained model, but no training state to resume from"
            remedy = (
                "Copy its checkpoints from a backup, or begin another with its weights: --init RUN --run NEW."
            )
            raise UserError(fact, place=str(run.folder), remedy=remedy)
        run.truncate_after(self.progress.step)

    def _restore(self, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Restore a state. Raises ``UserError`` or ValueError where it does not fit, or is not finite."""
        check_numbers({name: value for name, value in tensors.items() if not name.startswith(PREFIX)})
        check_numbers(tensors, largest=math.inf)
        rest = dict(meta)
        kernels = {KERNELS: rest.pop(KERNELS)} if KERNELS in rest else {}
        computed, optimizer = rest.pop(COMPUTATION, kernels), rest.pop(OPTIMIZER, None)
        self._become(tensors, Progress.from_dict(rest), optimizer)
        self._warn_of_changes(computed)

    def _become(self, tensors: Mapping[str, Tensor], progress: Progress, optimizer: Any) -> None:
        """Restore a saved state. Raises ValueError where a tensor is missing, unknown or of another shape."""
        known = {
            prefix + name: weight.shape
            for name, weight in self.model.state_dict().items()
            for prefix in ((MODEL, EMA) if self.ema else (MODEL,))
        }
        for name, shape in known.items():
            check_shape(name, tensors, shape)
        if unknown := [name for name in tensors if name not in known and not name.startswith(PREFIX)]:
            raise ValueError(f"not the state of this model: {min(unknown)} is unknown")
        self._optimizer_state.load(tensors, optimizer)  # first, for it may refuse
        self.progress = progress
        self.model.load_state_dict(_under(MODEL, tensors))
        if self.ema:
            self.ema.weights = {name: weight.to(self.device) for name, weight in _under(EMA, tensors).items()}

    def _warn_of_changes(self, before: Any) -> None:
        """Warn where a resumed training cannot end with the bytes of an uninterrupted one."""
        known = before if isinstance(before, Mapping) else {}
        if found := list(differences(known, computation(self._precision, self.device))):
            LOG.warning(
                "This run was computed with %s: it goes on, but does not end with the same bytes as one that "
                "was never cut off.",
                ", ".join(found),
            )


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
