"""torch.compile with dynamic shapes, reproducible so that a resumed run computes the same bytes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from multihead.batch import Batch
from multihead.errors import UserError
from multihead.nn.losses import Loss
from multihead.nn.parts.uncompiled import leave_out_uncompiled

LossFunction = Callable[[Batch, int], Loss]

SIZE_HINT = 64
"""Axis size that the compiler optimises for."""


def compile_loss(loss: LossFunction) -> LossFunction:
    """Return the loss function compiled for all batch shapes; compilation happens at the first call.

    By default the compiler tunes its code (loop unrolling, order of summation) to the sizes of the first
    batch it sees. After resuming that is a different batch, so a fixed hint replaces those sizes.

    Its calls raise ``UserError`` where the model cannot be compiled.
    """
    leave_out_uncompiled()
    fast = torch.compile(loss, dynamic=True)

    def compiled_loss(batch: Batch, step: int) -> Loss:
        for tensor in batch.tensors():
            for axis, size in enumerate(tensor.shape):
                if size > 1:  # torch.compile specialises on size 1 anyway
                    torch._dynamo.mark_dynamic(tensor, axis, hint_override=SIZE_HINT)
        try:
            return fast(batch, step)
        except torch._dynamo.exc.TorchDynamoException as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise UserError(
                f"the model cannot be compiled ({reason})",
                place="training.compile",
                remedy="Leave it out, or change the layer that depends on numbers; --debug shows where.",
            ) from error

    return compiled_loss


@contextmanager
def deterministic() -> Iterator[None]:
    """Use deterministic algorithms inside the block: no atomic additions from several CPU threads."""
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)
