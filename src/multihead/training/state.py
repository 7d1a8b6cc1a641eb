"""The training state for resuming: weights, optimiser state, moving average, progress."""

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.recipe.settings import OptimisationSettings
from multihead.run import Run
from multihead.run.sanity_checks import check_numbers
from multihead.system import parallel
from multihead.training import optimizers
from multihead.training.averaging import MovingAverage
from multihead.training.computation import KERNELS, changed_conditions, computation
from multihead.training.distributed.same_weights import refuse_other_shapes
from multihead.training.distributed.sharded_optimizer import ShardedOptimizer
from multihead.training.optimizer_state import PREFIX, OptimizerState, check_shape
from multihead.training.progress import TrainingProgress

MODEL, EMA = "model.", "ema."
COMPUTATION, OPTIMIZER = "computation", "optimizer"
"""Keys of a saved state besides those of ``TrainingProgress``: computation and optimiser."""

LOG = logging.getLogger(__name__)


class TrainingState:
    """A model in training, with its optimiser, moving average and progress.

    Args:
        model: the model, on its device.
        settings: training settings.
        device: device of the model.

    Raises:
        UserError: a part of the model's state is not a tensor; no parameter is trained.
    """

    def __init__(self, model: nn.Module, settings: OptimisationSettings, device: torch.device) -> None:
        self.model, self.device, self.settings = model, device, settings
        _refuse_objects(model)
        self.reduction: str = settings.reduction
        self.optimizer = optimizers.make_optimizer(model, settings)
        self._optimizer_state = OptimizerState(self.optimizer, model)
        self.ema = MovingAverage(model, settings.ema) if settings.ema else None
        self.progress = TrainingProgress()
        divided = settings.shard_optimizer and parallel.world() > 1
        self.sharded = ShardedOptimizer(model, self.optimizer) if divided else None

    def save(self, run: Run) -> None:
        """Save this state as the run's newest one; the one before a cool-down is kept, see ``longer``."""
        run.save_state(self.progress.step, *self.contents(), keep=self.progress.cooldown[0])

    @contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """Give the whole model to the first process inside the block; all processes enter it together."""
        yield self.model

    def average(self) -> Mapping[str, Tensor] | None:
        """Return the whole moving average in the first process, if there is one; all call it together."""
        return self.ema.weights if self.ema else None

    def share(self) -> None:
        """Give the first process's state to all processes."""
        if parallel.world() == 1:
            return
        refuse_other_shapes(self.model)
        tensors, meta = self._contents() if parallel.first() else ({}, {})
        meta, tensors = parallel.from_first(lambda: meta), parallel.share_tensors(tensors)
        if not parallel.first():
            self._restore(tensors, meta)
        if self.sharded:
            self.sharded.keep_own()

    @property
    def computation(self) -> dict[str, str | int]:
        """The conditions of this training that affect rounding."""
        return computation(self.settings.precision, self.device, self.reduction)

    def contents(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the state as tensors and JSON; the whole state in the first process."""
        with self.sharded.whole() if self.sharded else nullcontext():
            return self._contents()

    def _contents(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {MODEL + name: weight for name, weight in self.model.state_dict().items()}
        tensors |= self._optimizer_state.tensors()
        if self.ema:
            tensors |= {EMA + name: weight for name, weight in self.ema.weights.items()}
        return tensors, self._describe()

    def _describe(self) -> dict[str, Any]:
        described = {COMPUTATION: self.computation, OPTIMIZER: self._optimizer_state.description()}
        return {**self.progress.to_dict(), **described}

    def restore(self, run: Run) -> None:
        """Restore the newest state that is intact and fits, if any; truncate the logs after its step.

        Raises:
            UserError: no state is intact and fits; there is a trained model without a state.
        """
        if run.load_state(self._restore) is None and run.has_model:
            fact = "it holds a trained model, but no training state to resume from"
            remedy = (
                "Copy its checkpoints from a backup, or start a new run from its weights: "
                "--init RUN --run NEW."
            )
            raise UserError(fact, place=str(run.folder), remedy=remedy)
        run.truncate_after(self.progress.step, validated=not self.progress.unvalidated)

    def _restore(self, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Restore a state. Raises ``UserError`` or ``ValueError`` where it does not fit or is not finite."""
        of_model = {name: value for name, value in tensors.items() if not name.startswith(PREFIX)}
        buffers = {
            prefix + name
            for name, _ in self.model.named_buffers(remove_duplicate=False)
            for prefix in (MODEL, EMA)
        }
        check_numbers(of_model, buffers=buffers)
        check_numbers(tensors, largest=math.inf, buffers=buffers)
        rest = dict(meta)
        kernels = {KERNELS: rest.pop(KERNELS)} if KERNELS in rest else {}
        computed, optimizer = rest.pop(COMPUTATION, kernels), rest.pop(OPTIMIZER, None)
        self._load(tensors, TrainingProgress.from_dict(rest), optimizer)
        self._warn_of_changes(computed)

    def _load(self, tensors: Mapping[str, Tensor], progress: TrainingProgress, optimizer: Any) -> None:
        """Load a saved state. Raises ``ValueError``: a tensor is missing, unknown or of another shape."""
        known = {
            prefix + name: weight.shape
            for name, weight in self.model.state_dict().items()
            for prefix in ((MODEL, EMA) if self.ema else (MODEL,))
        }
        for name, shape in known.items():
            check_shape(name, tensors, shape)
        if unknown := [name for name in tensors if name not in known and not name.startswith(PREFIX)]:
            raise ValueError(f"not the state of this model: {min(unknown)} is unknown")
        self._optimizer_state.load(tensors, optimizer)  # first, because it may raise
        self.progress = progress
        self.model.load_state_dict(with_prefix(MODEL, tensors))
        if self.ema:
            averages = with_prefix(EMA, tensors)
            self.ema.weights = {name: weight.to(self.device) for name, weight in averages.items()}

    def _warn_of_changes(self, before: Any) -> None:
        """Warn where a resumed run cannot end with the same bytes as an uninterrupted one."""
        known = before if isinstance(before, Mapping) else {}
        if found := list(changed_conditions(known, self.computation)):
            LOG.warning(
                "This run was computed with %s. It resumes, but will not end with the same bytes as an "
                "uninterrupted run.",
                ", ".join(found),
            )


def _refuse_objects(model: nn.Module) -> None:
    """Refuse a model with state that no file of tensors holds (``get_extra_state``)."""
    for name, value in model.state_dict().items():
        if not isinstance(value, Tensor):
            raise UserError(
                f"{name} of the model's state is a {type(value).__name__}, and only tensors are saved",
                place="model",
                remedy="Register tensors as buffers instead of returning them from get_extra_state.",
            )


def with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose names have a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
