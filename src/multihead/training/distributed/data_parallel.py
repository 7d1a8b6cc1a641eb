"""Updates by several processes: each computes its shards; the gradients are summed; all step alike."""

from collections.abc import Sequence
from importlib import import_module

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from multihead.batch import Batch
from multihead.errors import UserError
from multihead.recipe.settings import OptimisationSettings
from multihead.system import parallel
from multihead.training.cuda_graphs import make_updater
from multihead.training.distributed.reduction import Reduction
from multihead.training.distributed.sharded_optimizer import ShardedOptimizer
from multihead.training.distributed.shards import Shards
from multihead.training.state import TrainingState
from multihead.training.update import Updater, UpdateStats


class SharedUpdater(Updater):
    """Updates the weights together with the other processes; see :class:`Updater`.

    Args:
        model: as for :class:`Updater`.
        optimizer: as for :class:`Updater`.
        settings: training settings.
        device: device of the model.
        shards: which shards this process computes.
        sharded: steps the optimiser where its state is divided among the processes.

    Raises:
        UserError: the model has batch normalisation, whose running statistics depend on the order of batches.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        settings: OptimisationSettings,
        device: torch.device,
        shards: Shards,
        sharded: ShardedOptimizer | None = None,
    ) -> None:
        super().__init__(model, optimizer, settings, device)
        if any(isinstance(part, _BatchNorm) for part in model.modules()):
            raise UserError(
                "a model with batch normalisation is trained by one process: its running statistics depend "
                "on the order of batches",
                remedy="Start one process, or choose another norm.",
            )
        self.shards = shards
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.reduction = Reduction(trained, shards.count, ordered=settings.reduction == "ordered")
        self._sharded = sharded

    def update(self, step: int, batches: Sequence[Batch]) -> list[UpdateStats]:
        """See :meth:`Updater.update`; ``batches`` are this process's shards, all counts are agreed on."""
        totals = self.shards.totals
        sums: dict[str, Tensor] = {}
        per: dict[str, str] = {}
        for number in range(self.reduction.rounds):
            found: dict[str, Tensor] = {}
            if number < len(batches):
                with self.ordered(), self.seed_micro_batch(step, self.shards.own[number]):
                    terms = self.add_parts(batches[number], step, totals)
                found = {name: value.cpu() for name, (value, _) in terms.items()}
                per = per or {name: count for name, (_, count) in terms.items()}
                kinds = {name: value.dtype for name, value in found.items()}
            own = [float(found[name]) if found else 0.0 for name in per]
            for shard in self.reduction.add(number, own):
                for name, value in zip(per, shard, strict=True):
                    sums[name] = sums.get(name, 0) + torch.tensor(value, dtype=kinds[name])
        self.reduction.finish()
        return [self.take_step(step, sums, {name: totals[count] for name, count in per.items()})]

    def step_optimizer(self) -> None:
        """Change the weights, or this process's share of them, which the others then receive."""
        (self._sharded or self.optimizer).step()


def make_state(model: nn.Module, settings: OptimisationSettings, device: torch.device) -> TrainingState:
    """Return the state of a training, before it is restored and shared; see :class:`TrainingState`."""
    divides = settings.shard_weights and parallel.world() > 1
    # FSDP2 takes as long to import as everything else.
    kind = (
        import_module("multihead.training.distributed.divided_state").DividedState
        if divides
        else TrainingState
    )
    state: TrainingState = kind(model, settings, device)
    return state


def make_updater_of(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    settings: OptimisationSettings,
    device: torch.device,
    shards: Shards,
    sharded: ShardedOptimizer | None = None,
) -> Updater:
    """Return the updater of a process, alone or one of several; see :class:`SharedUpdater`."""
    if parallel.world() == 1:
        return make_updater(model, optimizer, settings, device)
    if settings.shard_weights:
        kind = import_module("multihead.training.distributed.sharded_update").FullyShardedUpdater
        updater: Updater = kind(model, optimizer, settings, device, shards)
        return updater
    return SharedUpdater(model, optimizer, settings, device, shards, sharded)
