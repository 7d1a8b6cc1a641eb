"""The weights in bf16, with which a GPU computes, beside those in float32, which are trained.

Under autocast every weight is converted by a kernel of its own, its gradient by another, and a third adds it:
a sixth of a small model's update. Here all weights are converted by a few kernels, once an update (master
weights; Micikevicius et al. 2018, sec. 3.1).
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
    """A model's weights in another format. The model's own stay what they are and where they are.

    Args:
        model: in float32, on its device; every weight that is trained has a gradient already.
        dtype: the other format.
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        # Batch norm's are computed with as they are: so it wants them, beside its averages.
        exact = {id(p) for part in model.modules() if isinstance(part, _BatchNorm) for p in part.parameters()}
        trained = [p for p in model.parameters() if p.requires_grad]
        self._gradients = [p.grad for p in trained if p.grad is not None]
        assert len(self._gradients) == len(trained)
        self._arrived = [torch.empty_like(p) for p in trained]
        used = {id(p): p if id(p) in exact else p.detach().to(dtype).requires_grad_() for p in trained}
        self._used: list[Tensor] = [used[id(p)] for p in trained]
        self._weights: list[Tensor] = [p for p in trained if used[id(p)] is not p]
        self._shadows: list[Tensor] = [used[id(p)] for p in self._weights]
        self._places = [
            (part._parameters, name, p, used[id(p)])
            for part in model.modules()
            for name, p in part._parameters.items()
            if p is not None and p.requires_grad
        ]
        self._loss: LossFunction = model.loss  # type: ignore[assignment]

    def refresh(self) -> None:
        """Take over what the weights are now."""
        with torch.no_grad():
            torch._foreach_copy_(self._shadows, self._weights)

    def loss(self, batch: Batch, step: int) -> Loss:
        """The model's loss, computed with these weights."""
        with self._in_place():
            return self._loss(batch, step)

    def add_gradient(self, objective: Tensor) -> None:
        """Add the objective's gradient to those of the model's weights."""
        found = torch.autograd.grad(objective, self._used)
        torch._foreach_copy_(self._arrived, list(found))
        torch._foreach_add_(self._gradients, self._arrived)

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Let the model compute with these weights inside the block.

        ``torch.func.functional_call`` would leave one behind in a module that the model holds twice.
        """
        try:
            for table, name, _, used in self._places:
                table[name] = used  # type: ignore[assignment]
            yield
        finally:
            for table, name, own, _ in self._places:
                table[name] = own
