"""torch.compile for the loss of batches of any size, so that a resumed training computes the same bytes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from multihead.batch import Batch
from multihead.nn.losses import Loss
from multihead.nn.uncompiled import leave_out_uncompiled

LossFunction = Callable[[Batch, int], Loss]

TYPICAL = 64
"""Size of an axis that the compiler makes its plans for."""


def compiled(loss: LossFunction) -> LossFunction:
    """Return the same function, compiled once for all sizes when it is first called.

    Left to itself the compiler makes its plans (what to unroll, in which order to sum) for the sizes of the
    first batch it sees, which is another one after a training was resumed: so it is told a size.
    """
    leave_out_uncompiled()
    fast = torch.compile(loss, dynamic=True)

    def compiled_loss(batch: Batch, step: int) -> Loss:
        for tensor in batch.tensors():
            for axis, size in enumerate(tensor.shape):
                if size > 1:  # an axis of size 1 is a case of its own, compiled when it occurs
                    torch._dynamo.mark_dynamic(tensor, axis, hint_override=TYPICAL)
        return fast(batch, step)

    return compiled_loss


@contextmanager
def repeatable() -> Iterator[None]:
    """Keep the compiler from sums whose order is up to chance: atomic additions from several CPU threads."""
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)
