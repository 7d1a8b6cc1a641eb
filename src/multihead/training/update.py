"""One update of the weights: forward and backward over the micro-batches, clip, step."""

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import nn

from multihead import hardware, randomness
from multihead.batch import Batch
from multihead.errors import UserError
from multihead.nn.losses import objective
from multihead.settings import Learning
from multihead.training.compiling import LossFunction, compiled, repeatable


@dataclass(frozen=True, slots=True)
class Told:
    """What an update has to tell: sums and counts of every term, the gradient's norm before clipping."""

    sums: dict[str, float]
    counts: dict[str, int]
    norm: float


class Updater:
    """Makes updates of one model.

    Args:
        model: a module with ``loss(batch, step)``, which returns the named terms as sums over the batch.
        optimizer: of its parameters.
        settings: of the training.
        device: where the batches are sent.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        settings: Learning,
        device: torch.device,
    ) -> None:
        self.model, self.optimizer, self.settings, self.device = model, optimizer, settings, device
        self.dtype = hardware.pick_dtype(settings.precision, device)
        loss: LossFunction = model.loss  # type: ignore[assignment]
        # The method is compiled, not the module, so that the names of the weights stay what they are.
        self.loss = compiled(loss) if settings.compile else loss
        # A GPU's own sums have no fixed order either.
        self.ordered = repeatable if settings.compile and device.type == "cpu" else nullcontext

    def update(self, step: int, batches: Sequence[Batch]) -> Told:
        """Make update number ``step`` from the micro-batches, as if they were one large batch.

        Raises:
            UserError: the loss is not finite any more.
        """
        totals = sum((Counter(batch.counts) for batch in batches), Counter())
        told: dict[str, torch.Tensor] = {}
        counts: dict[str, int] = {}
        for number, batch in enumerate(batches):
            batch = batch.to(self.device)
            with (
                self.ordered(),
                randomness.at(self.settings.seed, "update", step, number),
            ):
                with hardware.autocast(self.device, self.dtype):
                    loss = self.loss(batch, step)
                objective(loss, totals).backward()  # type: ignore[no-untyped-call]
            for name, term in loss.items():
                told[name] = told.get(name, 0) + term.sum.detach()
                counts[name] = totals[term.per]
        norm = torch.nn.utils.clip_grad_norm_(
            self.model.parameters(), self.settings.clip_norm or float("inf"), foreach=True
        )
        if not norm.isfinite():
            raise UserError(
                f"training diverged: the gradient of update {step} is not finite",
                remedy="Lower training.learning_rate or raise training.warmup_steps.",
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return Told({name: value.item() for name, value in told.items()}, counts, norm.item())
