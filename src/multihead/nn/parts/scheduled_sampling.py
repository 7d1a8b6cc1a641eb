"""Scheduled sampling: in training, a decoder sometimes reads its own prediction (Bengio et al. 2015).

At each step of each sentence, the decoder reads the true token with probability epsilon, else its own most
probable token. epsilon decays linearly (sec. 2.4).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from multihead.nn.parts.row_state import RowState


def true_token_probability(step: int, final: float, decay_steps: int) -> float:
    """epsilon: 1 at step 0, ``final`` from ``decay_steps`` on, linear in between (sec. 2.4)."""
    if step >= decay_steps:
        return final
    return 1 - (1 - final) * step / decay_steps


def sampled_unroll(
    read: Callable[[Tensor, RowState], tuple[Tensor, RowState]],
    logits: Callable[[Tensor], Tensor],
    target_BT: Tensor,
    state: RowState,
    epsilon: float,
) -> Tensor:
    """Unroll a decoder over a mixture of true and predicted tokens; return its hidden states, (B, T, d).

    Random numbers come from torch's seeded generator. No gradient passes through the choice of a token.

    Args:
        read: reads one token per sentence; returns the output layer's input, (B, d), and the new state.
        logits: the output layer.
        target_BT: the true tokens, beginning with the begin symbol, which is always read.
        state: the state before the first token.
        epsilon: probability of reading the true token.
    """
    hiddens: list[Tensor] = []
    read_B = target_BT[:, 0]
    for target_B in target_BT.unbind(1):
        if hiddens:
            reads_true_B = torch.rand(target_B.shape, device=target_B.device) < epsilon
            with torch.no_grad():
                predicted_B = logits(hiddens[-1]).argmax(-1)
            read_B = torch.where(reads_true_B, target_B, predicted_B)
        hidden_Bd, state = read(read_B, state)
        hiddens.append(hidden_Bd)
    return torch.stack(hiddens, dim=1)
