"""Updates by several processes whose weights are divided among them; see ``full_sharding``."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from multihead.batch import Batch
from multihead.recipe.settings import OptimisationSettings
from multihead.system import parallel
from multihead.training.distributed.full_sharding import local
from multihead.training.distributed.shards import Shards
from multihead.training.update import Updater, UpdateStats


class FullyShardedUpdater(Updater):
    """Updates divided weights; see :class:`Updater`. FSDP2 gathers weights and sums gradients.

    Args:
        model: a model that :class:`FullSharding` has divided.
        optimizer: optimiser of its divided parameters.
        settings: training settings.
        device: device of the model.
        shards: which shards this process computes; all processes have as many.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        settings: OptimisationSettings,
        device: torch.device,
        shards: Shards,
    ) -> None:
        super().__init__(model, optimizer, settings, device)
        self.shards = shards

    def update(self, step: int, batches: Sequence[Batch]) -> list[UpdateStats]:
        """See :meth:`Updater.update`; ``batches`` are this process's shards, all counts are agreed on."""
        totals = self.shards.totals
        own: list[float] = []
        per: dict[str, str] = {}
        for shard, batch in zip(self.shards.own, batches, strict=True):
            with self.ordered(), self.seed_micro_batch(step, shard):
                terms = self.add_parts(batch, step, totals)
            own += [value.item() for value, _ in terms.values()]
            per = {name: count for name, (_, count) in terms.items()}
            kinds = {name: value.dtype for name, (value, _) in terms.items()}
        rows = parallel.gather_numbers(own)
        sums: dict[str, Tensor] = {}
        for shard in range(self.shards.count):
            first = shard // parallel.world() * len(per)
            for place, name in enumerate(per):
                term = rows[shard % parallel.world()][first + place]
                sums[name] = sums.get(name, 0) + torch.tensor(term, dtype=kinds[name])
        return [self.take_step(step, sums, {name: totals[count] for name, count in per.items()})]

    @torch.no_grad()
    def clip(self) -> Tensor:
        """Clip the gradients; return the norm of the whole gradient before clipping."""
        grads = [local(p.grad) for p in self.model.parameters() if p.grad is not None]
        squares = torch.stack([norm.double() ** 2 for norm in torch._foreach_norm(grads)]).sum()
        norm = math.sqrt(sum(row[0] for row in parallel.gather_numbers([squares.item()])))
        limit = self.settings.clip_norm
        if limit and norm > limit:
            torch._foreach_mul_(grads, limit / (norm + 1e-6))
        return torch.tensor(norm)
