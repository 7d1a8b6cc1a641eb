"""Scheduled sampling: in training a decoder sometimes reads its own word (Bengio et al. 2015).

At each step and for each sentence a coin decides whether the decoder reads the right token, with chance
epsilon, or the one that it holds for the likeliest. epsilon falls linearly (sec. 2.4).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from multihead.nn.row_state import RowState


def right_token_chance(step: int, final: float, decay_steps: int) -> float:
    """epsilon: 1 at step 0, ``final`` from ``decay_steps`` on, linear in between (sec. 2.4)."""
    if step >= decay_steps:
        return final
    return 1 - (1 - final) * step / decay_steps


def sampled_unroll(
    read: Callable[[Tensor, RowState], tuple[Tensor, RowState]],
    logits: Callable[[Tensor], Tensor],
    right_BT: Tensor,
    state: RowState,
    chance: float,
) -> Tensor:
    """Unroll a decoder over its own words and the right ones; what the output layer reads, (B, T, d).

    The coins come from torch's generator, so they follow from what it was seeded with. No gradient passes
    through the choice of a word.

    Args:
        read: reads one token a sentence; returns what the output layer reads, (B, d), and the new state.
        logits: the output layer.
        right_BT: the right tokens, the begin symbol first, which is always read.
        state: before the first.
        chance: epsilon.
    """
    hiddens: list[Tensor] = []
    read_B = right_BT[:, 0]
    for right_B in right_BT.unbind(1):
        if hiddens:
            is_right_B = torch.rand(right_B.shape, device=right_B.device) < chance
            with torch.no_grad():
                own_B = logits(hiddens[-1]).argmax(-1)
            read_B = torch.where(is_right_B, right_B, own_B)
        hidden_Bd, state = read(read_B, state)
        hiddens.append(hidden_Bd)
    return torch.stack(hiddens, dim=1)
