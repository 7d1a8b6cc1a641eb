"""The weights in bf16, with which a GPU computes, beside those in float32, which are trained.

Under autocast every weight is converted by a kernel of its own, its gradient by another, and a third adds it:
a sixth of a small model's update. Here all weights are converted by a few kernels, once an update (master
weights; Micikevicius et al. 2018, sec. 3.1).
"""

import torch
from torch import Tensor, nn
from torch.func import functional_call

from multihead.batch import Batch
from multihead.nn.losses import Loss


class _Lossy(nn.Module):
    """A model whose forward pass is its loss."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch, step: int) -> Loss:
        loss: Loss = self.model.loss(batch, step)  # type: ignore[operator]
        return loss


class Shadow:
    """A model's weights in another format.

    Args:
        model: in float32, on its device; every weight that is trained has a gradient already.
        dtype: the other format.
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self._module = _Lossy(model)
        self._weights: list[Tensor] = list(trained.values())
        self._gradients = [p.grad for p in self._weights if p.grad is not None]
        assert len(self._gradients) == len(self._weights)
        self._shadows = [p.detach().to(dtype).requires_grad_() for p in self._weights]
        self._named = {f"model.{name}": s for name, s in zip(trained, self._shadows, strict=True)}
        self._arrived = [torch.empty_like(p) for p in self._weights]

    def refresh(self) -> None:
        """Take over what the weights are now."""
        with torch.no_grad():
            torch._foreach_copy_(self._shadows, self._weights)

    def loss(self, batch: Batch, step: int) -> Loss:
        """The model's loss, computed with these weights."""
        loss: Loss = functional_call(self._module, self._named, (batch, step))
        return loss

    def add_gradient(self, objective: Tensor) -> None:
        """Add the objective's gradient to those of the model's weights."""
        found = torch.autograd.grad(objective, self._shadows)
        torch._foreach_copy_(self._arrived, list(found))
        torch._foreach_add_(self._gradients, self._arrived)
