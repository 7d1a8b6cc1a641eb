"""Muon: for a Transformer's inner matrices momentum made orthogonal, for all else AdamW.

Jordan et al. 2024 (Muon: an optimizer for hidden layers in neural networks); the size of an update as Liu et
al. 2025 (Muon is scalable for LLM training), eq. 4. A gradient of a matrix has a few large directions; here
every direction gets the same step, so that what is rare is learnt too. `multihead train multi30k-de-en-fast`
learns in 1,400 updates what Adam learns in 2,000, and an update takes a tenth longer.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from multihead.nn.modules import Linear

INNER = "inner"
"""Of a group of parameters: whether its matrices' momentum is made orthogonal."""

MOMENTUM = 0.95
SIZE = 0.2
"""Of an update's entries, as root mean square at a rate of 1: about Adam's; twice its rates learnt best."""

A, B, C = 3.4445, -4.7750, 2.0315
"""Of a x + b x^3 + c x^5, which brings singular values near 1, small ones in several rounds."""

ROUNDS = 3
"""A small value becomes about A times as large in each. Published: 5; 3 learnt as well (2 M parameters)."""

Shape = tuple[int, int]


class Muon(torch.optim.AdamW):
    """Takes groups of parameters as ``AdamW`` does; those that say ``INNER`` hold matrices only.

    Args:
        groups: each with ``INNER``, rate and weight decay.
        dtype: in which matrices are made orthogonal.
        adam: what ``AdamW`` is told besides.
    """

    def __init__(self, groups: Iterable[dict[str, Any]], dtype: torch.dtype, **adam: Any) -> None:
        super().__init__(list(groups), **adam)
        self.dtype = dtype

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Make an update of everything that has a gradient."""
        inner = [group for group in self.param_groups if group[INNER]]
        matrices = [p for group in inner for p in group["params"] if p.grad is not None]
        gradients = [p.grad for p in matrices]
        for p in matrices:
            p.grad = None  # Adam passes over it
        loss: float | None = super().step(closure)
        for p, gradient in zip(matrices, gradients, strict=True):
            p.grad = gradient
        with torch.no_grad():
            directions = self._directions(matrices)
            for group in inner:
                moved = [p for p in group["params"] if p in directions]
                if not moved:
                    continue
                steps = [directions[p] for p in moved]
                if group["weight_decay"]:
                    torch._foreach_mul_(moved, 1 - group["lr"] * group["weight_decay"])
                torch._foreach_mul_(steps, -group["lr"])
                torch._foreach_add_(moved, steps)
        return loss

    def _directions(self, matrices: list[nn.Parameter]) -> dict[nn.Parameter, Tensor]:
        """Where each matrix goes, at a rate of 1. Those of one shape are made orthogonal side by side."""
        alike: dict[Shape, list[nn.Parameter]] = {}
        for p in matrices:
            alike.setdefault((p.shape[0], p.shape[1]), []).append(p)
        found: dict[nn.Parameter, Tensor] = {}
        for shape, those in alike.items():
            momenta = [self._momentum(p) for p in those]
            gradients = [p.grad for p in those if p.grad is not None]
            torch._foreach_lerp_(momenta, gradients, 1 - MOMENTUM)
            ahead = torch._foreach_lerp(gradients, momenta, MOMENTUM)  # Nesterov's
            u_Kmn = orthogonal(torch.stack(list(ahead)), self.dtype)
            found |= dict(zip(those, u_Kmn.mul_(SIZE * max(shape) ** 0.5).unbind(), strict=True))
        return found

    def _momentum(self, p: nn.Parameter) -> Tensor:
        state = self.state[p]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(p)
        momentum: Tensor = state["momentum"]
        return momentum


def orthogonal(g_Kmn: Tensor, dtype: torch.dtype) -> Tensor:
    """U V^T of each matrix U S V^T, nearly: (K, m, n) to the same.

    Singular values become 0.6 to 1.2, but those that are a fortieth of all (their root of the sum of squares)
    or less stay smaller. By Newton-Schulz iteration, in ``dtype``: products only.
    """
    tall = g_Kmn.shape[1] > g_Kmn.shape[2]
    x = g_Kmn.mT if tall else g_Kmn
    x = (x / x.norm(dim=(1, 2), keepdim=True).clamp_min(1e-7)).to(dtype)
    for _ in range(ROUNDS):
        s = torch.bmm(x, x.mT)
        polynomial = torch.baddbmm(s, s, s, beta=B, alpha=C)
        x = torch.baddbmm(x, polynomial, x, beta=A)
    return (x.mT if tall else x).to(g_Kmn.dtype)


def inner_matrices(model: nn.Module) -> set[Tensor]:
    """The matrices of attention and feed-forward networks: not embeddings, output layers or convolutions."""
    return {part.weight for part in model.modules() if isinstance(part, Linear)}
