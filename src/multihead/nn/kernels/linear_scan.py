"""First-order linear recurrence c_t = f_t c_(t-1) + b_t over all steps at once, by doubling (Blelloch 1990).

Two steps combine into one of the same form, so log2(T) passes over whole tensors replace T steps. The
gradient is the same recurrence backwards in time: g_t = dL/dc_t + f_(t+1) g_(t+1).
"""

from typing import Any

import torch
from torch import Tensor


def linear_scan(forget_BTd: Tensor, added_BTd: Tensor) -> Tensor:
    """Return c_t = f_t c_(t-1) + b_t with c_0 = 0, (B, T, d).

    Args:
        forget_BTd: f, (B, T, d).
        added_BTd: b, (B, T, d).
    """
    out: Tensor = _LinearScan.apply(forget_BTd, added_BTd)  # type: ignore[no-untyped-call]
    return out


class _LinearScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, forget_BTd: Tensor, added_BTd: Tensor) -> Tensor:
        states_BTd = _scan(forget_BTd, added_BTd)
        ctx.save_for_backward(forget_BTd, states_BTd)
        return states_BTd

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        forget_BTd, states_BTd = ctx.saved_tensors
        (gradient_BTd,) = gradients
        later_BTd = torch.zeros_like(forget_BTd)
        later_BTd[:, :-1] = forget_BTd[:, 1:]
        added_BTd = _scan(later_BTd.flip(1), gradient_BTd.flip(1)).flip(1)
        earlier_BTd = torch.zeros_like(states_BTd)
        earlier_BTd[:, 1:] = states_BTd[:, :-1]
        return added_BTd * earlier_BTd, added_BTd


def _scan(forget_BTd: Tensor, added_BTd: Tensor) -> Tensor:
    """The recurrence's states; after each pass a position has the sum of twice as many steps before it."""
    factor, state = forget_BTd.clone(), added_BTd.clone()
    reach, steps = 1, state.shape[1]
    while reach < steps:
        earlier, before = state[:, :-reach].clone(), factor[:, :-reach].clone()
        state[:, reach:].addcmul_(factor[:, reach:], earlier)
        factor[:, reach:] *= before
        reach *= 2
    return state
