"""One update: forward and backward pass over the micro-batches, gradient clipping, optimiser step."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from multihead import hardware, randomness
from multihead.batch import Batch
from multihead.errors import UserError
from multihead.nn.kernels.byte_products import int8_training
from multihead.nn.kernels.sampled_gradient import sampling
from multihead.nn.losses import Loss, objective
from multihead.settings import OptimisationSettings
from multihead.training.compiling import LossFunction, compile_loss, deterministic


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """Statistics of an update: sum and count of every loss term, gradient norm before clipping."""

    sums: dict[str, float]
    counts: dict[str, int]
    norm: float


class Updater:
    """Updates one model's weights.

    Args:
        model: a module with ``loss(batch, step)``, which returns named terms as sums over the batch.
        optimizer: optimiser of its parameters.
        settings: training settings.
        device: device of the model.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        settings: OptimisationSettings,
        device: torch.device,
    ) -> None:
        self.model, self.optimizer, self.settings, self.device = model, optimizer, settings, device
        self.dtype = hardware.pick_dtype(settings.precision, device)
        self.int8 = hardware.trains_in_int8(settings.precision, device)
        loss: LossFunction = model.loss  # type: ignore[assignment]
        # Compiling the module instead of the method would prefix the names of its weights.
        self.loss = compile_loss(loss) if settings.compile else loss
        # On a GPU, sums have no fixed order anyway.
        self.ordered = deterministic if settings.compile and device.type == "cpu" else nullcontext

    def update(self, step: int, batches: Sequence[Batch]) -> list[UpdateStats]:
        """Make update number ``step`` from the micro-batches, exactly as if they were one large batch.

        Returns:
            Statistics of the updates that have finished since the last call, in order; here, of this one.

        Raises:
            UserError: the gradient is not finite.
        """
        totals = total_counts(batches)
        sums: dict[str, Tensor] = {}
        counts: dict[str, int] = {}
        for number, batch in enumerate(batches):
            with self.ordered(), self.seeded(step, number):
                terms = self.add_gradient(batch.to(self.device), step, totals)
            for name, (value, per) in terms.items():
                sums[name] = sums.get(name, 0) + value
                counts[name] = totals[per]
        norm = self.clip().item()
        check_finite(norm, step)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return [UpdateStats({name: value.item() for name, value in sums.items()}, counts, norm)]

    def synchronize(self) -> list[UpdateStats]:
        """Wait until every update has finished; return the statistics that :meth:`update` has not returned.

        Raises:
            UserError: see :meth:`update`.
        """
        return []

    # --- the parts of an update -----------------------------------------------------------------------

    def seeded(self, step: int, number: int) -> AbstractContextManager[None]:
        """Seed everything random in a micro-batch from (seed, step, number)."""
        return randomness.at(self.settings.seed, "update", step, number)

    def add_gradient(
        self, batch: Batch, step: int, totals: Mapping[str, int | Tensor]
    ) -> dict[str, tuple[Tensor, str]]:
        """Accumulate a micro-batch's gradient; return each term's sum and the name of its count."""
        with (
            hardware.autocast(self.device, self.dtype),
            int8_training(self.int8),
            sampling(self.settings.gradient_grain),
        ):
            loss = self.loss(batch, step)
        objective(loss, totals).backward()  # type: ignore[no-untyped-call]
        return term_sums(loss)

    def clip(self) -> Tensor:
        """Clip the gradients; return their norm before clipping."""
        parameters = list(self.model.parameters())
        norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None], foreach=True)
        limit = self.settings.clip_norm
        # On a GPU, comparing the norm would synchronise.
        if limit and (self.device.type != "cpu" or not norm <= limit):
            torch.nn.utils.clip_grads_with_norm_(parameters, limit, norm, foreach=True)
        return norm


def term_sums(loss: Loss) -> dict[str, tuple[Tensor, str]]:
    """Return every term's sum and the name of its count."""
    return {name: (term.sum.detach(), term.per) for name, term in loss.items()}


def total_counts(batches: Sequence[Batch]) -> dict[str, int]:
    """Return the denominators of the loss terms over all micro-batches, at least 1 each."""
    totals: Counter[str] = Counter()
    for batch in batches:
        totals.update(batch.counts)
    return {name: max(1, total) for name, total in totals.items()}


def check_finite(norm: float, step: int) -> None:
    """Raise ``UserError`` where the gradient's norm is not finite."""
    if not norm < float("inf"):
        raise UserError(
            f"training diverged: the gradient of update {step} is not finite",
            remedy="Lower training.learning_rate or raise training.warmup_steps, with a new --run folder.",
        )
