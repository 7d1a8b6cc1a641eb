"""The training state where weights are divided among processes: divided at the start, gathered to be saved.

A saved state is that of any training, so that another number of processes can resume it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from multihead.recipe.settings import OptimisationSettings
from multihead.run import Run
from multihead.system import parallel
from multihead.training import optimizers
from multihead.training.distributed.full_sharding import FullSharding, refuse_model
from multihead.training.distributed.same_weights import refuse_other_shapes
from multihead.training.optimizer_state import PREFIX, OptimizerState
from multihead.training.progress import TrainingProgress
from multihead.training.state import COMPUTATION, EMA, MODEL, OPTIMIZER, TrainingState, with_prefix


class DividedState(TrainingState):
    """A model in training whose weights, moments and moving average are divided; see :class:`TrainingState`.

    :meth:`share` divides them; before it, the model is whole.
    """

    full: FullSharding

    def __init__(self, model: nn.Module, settings: OptimisationSettings, device: torch.device) -> None:
        refuse_model(model)
        super().__init__(model, settings.model_copy(update={"shard_optimizer": False}), device)
        self.reduction = "sharded"

    def share(self) -> None:
        """Give the first process's weights to all processes, divide them, and then the moments."""
        refuse_other_shapes(self.model)
        tensors, meta = self._contents() if parallel.first() else ({}, {})
        meta = parallel.from_first(lambda: meta)
        weights = {name: tensor for name, tensor in tensors.items() if not name.startswith(PREFIX)}
        shared = parallel.share_tensors(weights)
        if not parallel.first():
            self.model.load_state_dict(with_prefix(MODEL, shared))
            self.progress = TrainingProgress.from_dict(
                {key: value for key, value in meta.items() if key not in (COMPUTATION, OPTIMIZER)}
            )
        self.full = full = FullSharding(self.model, self.device)
        if self.ema:
            self.ema.weights = {
                name: (full.part(tensor) if name in self._divided_weights else tensor).to(self.device)
                for name, tensor in with_prefix(EMA, shared).items()
            }
        self.optimizer = optimizers.make_optimizer(self.model, self.settings)
        self._optimizer_state = OptimizerState(self.optimizer, self.model)
        parameters = dict(self.model.named_parameters())

        def keep(name: str, whole: Tensor) -> Tensor:
            parameter = parameters[name.removeprefix(PREFIX).partition(".")[2]]
            return full.divide(whole) if whole.shape == parameter.shape else whole

        moments = {name: tensor for name, tensor in tensors.items() if name.startswith(PREFIX)}
        self._optimizer_state.load(parallel.share_tensors(moments, keep), meta[OPTIMIZER])

    def save(self, run: Run) -> None:
        """See :meth:`TrainingState.save`; all processes call it together."""
        with self.whole():
            super().save(run)

    @contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """See :meth:`TrainingState.whole`."""
        with self.full.whole() as model:
            yield model

    def average(self) -> Mapping[str, Tensor] | None:
        """See :meth:`TrainingState.average`."""
        return self._collect(self.ema.weights, self._divided_weights) if self.ema else None

    def contents(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """See :meth:`TrainingState.contents`; inside :meth:`whole` only, whose end frees the weights."""
        with self.whole() as model:
            tensors = {MODEL + name: weight for name, weight in model.state_dict().items()}
        moments = self._optimizer_state.tensors()
        tensors |= self._collect(moments, {n: t for n, t in moments.items() if isinstance(t, DTensor)})
        tensors |= {EMA + name: weight for name, weight in (self.average() or {}).items()}
        return tensors, self._describe()

    @property
    def _divided_weights(self) -> dict[str, DTensor]:
        """The divided weights by name."""
        return {n: weight for n, weight in self.model.state_dict().items() if isinstance(weight, DTensor)}

    def _collect(self, parts: Mapping[str, Tensor], like: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Gather the whole of each divided part in the first process, on the CPU; nothing in the others."""
        found: dict[str, Tensor] = {}
        for name, part in parts.items():
            whole = self.full.gather(part, like[name].shape) if name in like else part
            if parallel.first():
                found[name] = whole.cpu()
        return found
