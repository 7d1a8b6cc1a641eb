"""Recurrent cells: Elman's, LSTM and GRU, as PyTorch computes them.

RNN (Elman 1990), the vanilla one:
    h' = tanh(W x + U h + b)
LSTM (Hochreiter and Schmidhuber 1997; with forget gate, Gers et al. 2000):
    i, f, o = sigmoid(W x + U h + b) each, g = tanh(W_g x + U_g h + b_g)
    c' = f * c + i * g,  h' = o * tanh(c')
GRU (Cho et al. 2014), with r applied after the product (the paper has U_n (r * h)):
    r, z = sigmoid(W x + U h + b) each, n = tanh(W_n x + b_n + r * (U_n h + b'_n))
    h' = (1 - z) * n + z * h
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

State = tuple[Tensor, ...]
"""A layer's state, each tensor (B, d), h first."""

WEIGHTS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
"""PyTorch's names of a layer's weights, in the order that its cells expect."""


@dataclass(frozen=True, slots=True)
class RecurrentCell:
    """A kind of recurrent layer.

    Attributes:
        name: its word in a recipe.
        layer: PyTorch's layer of it, which reads whole sequences.
        parts: number of tensors in a layer's state.
        step: one position: input (B, d_in), state, and weights in the order of ``WEIGHTS``, to the new state.
        forget_gate: number of the gate whose bias starts at 1 (Jozefowicz et al. 2015); None: no bias does.
    """

    name: str
    layer: Callable[..., nn.RNNBase]
    parts: int
    step: Callable[[Tensor, State, Sequence[Tensor]], State]
    forget_gate: int | None = None

    def make(self, d_in: int, d_hidden: int) -> nn.RNNBase:
        """Make a layer, initialised.

        Recurrent matrices are orthogonal, gate by gate (Bahdanau et al. 2015, appendix B.1; Saxe et al.
        2014), the others by Glorot and Bengio's rule. Biases are 0, except the forget gate's.
        """
        layer = self.layer(d_in, d_hidden, batch_first=True)
        for name, parameter in layer.named_parameters():
            if name.startswith("bias"):
                nn.init.zeros_(parameter)
                if self.forget_gate is not None and name.startswith("bias_ih"):
                    nn.init.ones_(torch.split(parameter, d_hidden)[self.forget_gate])
            else:
                fill = nn.init.orthogonal_ if name.startswith("weight_hh") else nn.init.xavier_uniform_
                for gate in torch.split(parameter, d_hidden):
                    fill(gate)
        return layer

    def advance(self, layer: nn.Module, x_Bd: Tensor, state: State) -> State:
        """The state of a layer of this kind after one more position."""
        return self.step(x_Bd, state, [layer.get_parameter(name) for name in WEIGHTS])


def _elman(x_Bd: Tensor, state: State, weights: Sequence[Tensor]) -> State:
    w_x, w_h, b_x, b_h = weights
    return (torch.rnn_tanh_cell(x_Bd, state[0], w_x, w_h, b_x, b_h),)


def _gru(x_Bd: Tensor, state: State, weights: Sequence[Tensor]) -> State:
    w_x, w_h, b_x, b_h = weights
    return (torch.gru_cell(x_Bd, state[0], w_x, w_h, b_x, b_h),)


def _lstm(x_Bd: Tensor, state: State, weights: Sequence[Tensor]) -> State:
    w_x, w_h, b_x, b_h = weights
    return torch.lstm_cell(x_Bd, state, w_x, w_h, b_x, b_h)


ELMAN = RecurrentCell("rnn", nn.RNN, 1, _elman)
LSTM = RecurrentCell("lstm", nn.LSTM, 2, _lstm, forget_gate=1)
GRU = RecurrentCell("gru", nn.GRU, 1, _gru)

CELLS = {cell.name: cell for cell in (ELMAN, LSTM, GRU)}
"""Every cell by its word in a recipe."""
