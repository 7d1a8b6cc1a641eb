"""One update of the weights: forward and backward over the micro-batches, clip, step."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from multihead import hardware, randomness
from multihead.batch import Batch
from multihead.errors import UserError
from multihead.nn.kernels.byte_products import in_bytes
from multihead.nn.kernels.sampled_gradient import sampling
from multihead.nn.losses import Loss, objective
from multihead.settings import OptimisationSettings
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
        settings: OptimisationSettings,
        device: torch.device,
    ) -> None:
        self.model, self.optimizer, self.settings, self.device = model, optimizer, settings, device
        self.dtype = hardware.pick_dtype(settings.precision, device)
        self.in_bytes = hardware.trains_in_int8(settings.precision, device)
        loss: LossFunction = model.loss  # type: ignore[assignment]
        # The method is compiled, not the module, so that the names of the weights stay what they are.
        self.loss = compiled(loss) if settings.compile else loss
        # A GPU's own sums have no fixed order either.
        self.ordered = repeatable if settings.compile and device.type == "cpu" else nullcontext

    def update(self, step: int, batches: Sequence[Batch]) -> list[Told]:
        """Make update number ``step`` from the micro-batches, as if they were one large batch.

        Returns:
            What the updates told that have come to their end since the last call, in order; here this one.

        Raises:
            UserError: the loss is not finite any more.
        """
        totals = totals_of(batches)
        told: dict[str, Tensor] = {}
        counts: dict[str, int] = {}
        for number, batch in enumerate(batches):
            with self.ordered(), self.chance(step, number):
                terms = self.add_gradient(batch.to(self.device), step, totals)
            for name, (value, per) in terms.items():
                told[name] = told.get(name, 0) + value
                counts[name] = totals[per]
        norm = self.clip().item()
        check(norm, step)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return [Told({name: value.item() for name, value in told.items()}, counts, norm)]

    def settle(self) -> list[Told]:
        """Wait until every update has come to its end; what those told that no call has returned yet.

        Raises:
            UserError: see :meth:`update`.
        """
        return []

    # --- the parts of an update -----------------------------------------------------------------------

    def chance(self, step: int, number: int) -> AbstractContextManager[None]:
        """Everything random in one micro-batch of an update follows from where it stands."""
        return randomness.at(self.settings.seed, "update", step, number)

    def add_gradient(
        self, batch: Batch, step: int, totals: Mapping[str, int | Tensor]
    ) -> dict[str, tuple[Tensor, str]]:
        """Add a micro-batch's part to the gradients; return its terms' sums, and what each is divided by."""
        with (
            hardware.autocast(self.device, self.dtype),
            in_bytes(self.in_bytes),
            sampling(self.settings.gradient_grain),
        ):
            loss = self.loss(batch, step)
        objective(loss, totals).backward()  # type: ignore[no-untyped-call]
        return told_of(loss)

    def clip(self) -> Tensor:
        """Clip the gradients, and return their norm before that."""
        parameters = list(self.model.parameters())
        norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None], foreach=True)
        limit = self.settings.clip_norm
        # On a GPU Python would have to wait for the norm.
        if limit and (self.device.type != "cpu" or not norm <= limit):
            torch.nn.utils.clip_grads_with_norm_(parameters, limit, norm, foreach=True)
        return norm


def told_of(loss: Loss) -> dict[str, tuple[Tensor, str]]:
    """Return every term's sum, and the name of what it is divided by."""
    return {name: (term.sum.detach(), term.per) for name, term in loss.items()}


def totals_of(batches: Sequence[Batch]) -> dict[str, int]:
    """Return what the terms of a loss are divided by, over all micro-batches; for nothing, 1."""
    totals: Counter[str] = Counter()
    for batch in batches:
        totals.update(batch.counts)
    return {name: max(1, total) for name, total in totals.items()}


def check(norm: float, step: int) -> None:
    """Refuse to go on when a gradient's norm is not finite.

    Raises:
        UserError: it is not.
    """
    if not norm < float("inf"):
        raise UserError(
            f"training diverged: the gradient of update {step} is not finite",
            remedy="Lower training.learning_rate or raise training.warmup_steps, in another --run folder.",
        )
