"""One update: forward and backward pass over the micro-batches, gradient clipping, optimiser step."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from multihead.batch import Batch
from multihead.errors import UserError
from multihead.nn.kernels.byte_products import int8_training
from multihead.nn.kernels.sampled_gradient import sampling
from multihead.nn.losses import Loss, objective
from multihead.recipe.settings import OptimisationSettings
from multihead.system import hardware, randomness
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

    Attributes:
        parts: parts in which each batch is computed, for lack of memory (``training.recovery``).
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
        self.parts = 1

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
            with self.ordered(), self.seed_micro_batch(step, number):
                terms = self.add_parts(batch, step, totals)
            for name, (value, per) in terms.items():
                sums[name] = sums.get(name, 0) + value
                counts[name] = totals[per]
        return [self.take_step(step, sums, counts)]

    def synchronize(self) -> list[UpdateStats]:
        """Wait until every update has finished; return the statistics that :meth:`update` has not returned.

        Raises:
            UserError: see :meth:`update`.
        """
        return []

    def forget(self) -> None:
        """Drop the gradients of an update that failed before its step."""
        self.optimizer.zero_grad(set_to_none=True)

    def plain(self) -> "Updater":
        """Return an updater of the same weights that can compute batches in parts; here, this one."""
        return self

    # --- the parts of an update -----------------------------------------------------------------------

    def take_step(self, step: int, sums: Mapping[str, Tensor], counts: dict[str, int]) -> UpdateStats:
        """Clip the gradient and change the weights; return the statistics of the update.

        Raises:
            UserError: the gradient is not finite.
        """
        norm = self.clip().item()
        check_finite(norm, step, sums)
        self.step_optimizer()
        self.optimizer.zero_grad(set_to_none=True)
        return UpdateStats({name: value.item() for name, value in sums.items()}, counts, norm)

    def step_optimizer(self) -> None:
        """Change the weights by the gradient."""
        self.optimizer.step()

    def seed_micro_batch(self, step: int, number: int) -> AbstractContextManager[None]:
        """Seed everything random in a micro-batch from (seed, step, number)."""
        return randomness.at(self.settings.seed, "update", step, number)

    def add_parts(
        self, batch: Batch, step: int, totals: Mapping[str, int | Tensor]
    ) -> dict[str, tuple[Tensor, str]]:
        """Accumulate a micro-batch's gradient in ``parts`` parts; return as :meth:`add_gradient`."""
        terms: dict[str, tuple[Tensor, str]] = {}
        for part in split(batch, self.parts):
            for name, (value, per) in self.add_gradient(part.to(self.device), step, totals).items():
                terms[name] = (terms[name][0] + value if name in terms else value, per)
        return terms

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


class NotFiniteUpdateError(UserError):
    """An update whose loss or gradient is not finite; ``step`` is its number."""

    def __init__(self, what: str, step: int) -> None:
        super().__init__(
            f"training diverged: the {what} of update {step} is not finite",
            remedy="Lower training.learning_rate or raise training.warmup_steps, with a new --run folder.",
        )
        self.step = step


def check_finite(norm: float, step: int, sums: Mapping[str, Tensor] | None = None) -> None:
    """Raise ``NotFiniteUpdateError`` where the gradient's norm, or the sum called "loss", is not finite."""
    if not norm < math.inf:
        raise NotFiniteUpdateError("gradient", step)
    if sums and not math.isfinite(sums.get("loss", 0.0)):
        raise NotFiniteUpdateError("loss", step)


# --- parts of a batch: losses are sums, so the parts' gradients add up to the batch's ------------------


def rows(batch: Batch) -> int:
    """Return the number of rows of a batch; 1 for a batch that cannot be split by rows."""
    sizes = {tensor.shape[0] if tensor.dim() else 0 for tensor in batch.tensors()}
    return max(1, sizes.pop()) if len(sizes) == 1 else 1


def split(batch: Batch, parts: int) -> Iterator[Batch]:
    """Yield a batch in at most ``parts`` parts of nearly as many rows, in order.

    The plain numbers of a part (``tokens``) are those of the whole batch.
    """
    count = rows(batch)
    parts = min(parts, count)
    if parts < 2:
        yield batch
        return
    for number in range(parts):
        yield _rows(batch, number * count // parts, (number + 1) * count // parts)


def _rows(batch: Batch, first: int, end: int) -> Batch:
    def cut(tensor: Tensor) -> Tensor:
        return tensor[first:end]

    return batch.map_tensors(cut)
