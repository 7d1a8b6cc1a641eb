"""Master weights: a GPU computes with low-precision copies of the trained float32 weights.

Micikevicius et al. 2018, sec. 3.1. Autocast launches three kernels per weight: one to cast it, one to cast
its gradient, one to add it. Together they take a sixth of a small model's update. Here a few kernels cast all
weights, once per update.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from multihead.batch import Batch
from multihead.nn.losses import Loss
from multihead.training.compiling import LossFunction


class MasterWeights:
    """Low-precision copies of a model's weights. The model's own weights are the master weights.

    Args:
        model: a float32 model on its device; every trained weight already has a gradient tensor.
        dtype: dtype of the copies.
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        # Batch norm needs its weights in the dtype of its running statistics.
        exact = {id(p) for part in model.modules() if isinstance(part, _BatchNorm) for p in part.parameters()}
        trained = [p for p in model.parameters() if p.requires_grad]
        self._gradients = [p.grad for p in trained if p.grad is not None]
        assert len(self._gradients) == len(trained)
        self._received = [torch.empty_like(p) for p in trained]
        used = {id(p): p if id(p) in exact else p.detach().to(dtype).requires_grad_() for p in trained}
        self._used: list[Tensor] = [used[id(p)] for p in trained]
        self._weights: list[Tensor] = [p for p in trained if used[id(p)] is not p]
        self._copies: list[Tensor] = [used[id(p)] for p in self._weights]
        self._entries = [
            (part._parameters, name, p, used[id(p)])
            for part in model.modules()
            for name, p in part._parameters.items()
            if p is not None and p.requires_grad
        ]
        self._loss: LossFunction = model.loss  # type: ignore[assignment]

    def refresh(self) -> None:
        """Copy the current master weights."""
        with torch.no_grad():
            torch._foreach_copy_(self._copies, self._weights)

    def loss(self, batch: Batch, step: int) -> Loss:
        """Return the model's loss, computed with the copies."""
        with self._substitute():
            return self._loss(batch, step)

    def add_gradient(self, objective: Tensor) -> None:
        """Add the objective's gradient to the gradients of the master weights."""
        gradients = torch.autograd.grad(objective, self._used)
        torch._foreach_copy_(self._received, list(gradients))
        torch._foreach_add_(self._gradients, self._received)

    @contextmanager
    def _substitute(self) -> Iterator[None]:
        """Substitute the copies for the model's weights inside the block.

        ``torch.func.functional_call`` would leave a copy behind in a module that the model contains twice.
        """
        try:
            for table, name, _, used in self._entries:
                table[name] = used  # type: ignore[assignment]
            yield
        finally:
            for table, name, own, _ in self._entries:
                table[name] = own
