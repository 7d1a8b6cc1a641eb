"""A recurrent decoder with attention over the source (Bahdanau et al. 2015, sec. 3.1, A.2.2).

    alpha_i = softmax(score(s_i-1, h)),  c_i = sum_j alpha_ij h_j     attention from the previous state
    s_i = f(s_i-1, [E y_i-1; c_i])                                    the context joins the input
    t_i = tanh(W_t [s_i; c_i; E y_i-1])                               ... and the output layer's input

With input feeding (Luong et al. 2015, sec. 3.3), f also reads t_i-1, which informs it of past alignments.
The output layer follows Luong: it reads s_i through a tanh. Bahdanau's (A.2.2) reads s_i-1 through a maxout.
"""

import torch
from torch import Tensor, nn

from multihead.nn.modules import Dropout
from multihead.nn.parts.alignment import AlignmentModel
from multihead.nn.parts.recurrent import RecurrentStack, State

Memory = tuple[Tensor, Tensor, Tensor]
"""The source that a decoder attends to: keys (N, S, d), values h (N, S, d_h), padding mask (N, 1, 1, S)."""


class AttentiveDecoder(nn.Module):
    """Reads one token at a time and returns t_i, the output layer's input.

    Args:
        layers: f; they read E y, c and, with input feeding, t.
        alignment: scores h against s.
        d_embedding: width of E y, and of t.
        d_h: width of h.
        input_feeding: whether f reads t_i-1.
        dropout: of t.
    """

    def __init__(
        self,
        layers: RecurrentStack,
        alignment: AlignmentModel,
        *,
        d_embedding: int,
        d_h: int,
        input_feeding: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.layers, self.alignment, self.input_feeding = layers, alignment, input_feeding
        self.w_t = nn.Linear(layers.d_out + d_h + d_embedding, d_embedding)
        self.dropout = Dropout(dropout)

    def memory(self, h_BSd: Tensor, allowed: Tensor) -> Memory:
        """The memory of the encoder's states; ``allowed`` is their padding mask, (B, 1, 1, S)."""
        return self.alignment.keys(h_BSd), h_BSd, allowed

    def begin(self, layers_state: State) -> State:
        """The decoder's initial state, from the initial state of its recurrent layers."""
        if not self.input_feeding:
            return layers_state
        s_Bd = self.layers.top(layers_state)
        return (*layers_state, s_Bd.new_zeros(len(s_Bd), self.w_t.out_features))

    def forward(self, embedded_Rd: Tensor, state: State, memory: Memory) -> tuple[Tensor, State]:
        """Read a token; return t, (R, d_embedding), and the new state.

        Args:
            embedded_Rd: E y of R hypotheses, the same number for each of N sentences, ordered by sentence.
            state: from ``begin`` or the previous call.
            memory: the memory of the N sentences.
        """
        size = self.layers.state_size
        before, fed = state[:size], state[size:]
        s_Rd = self.layers.top(before)
        # A sentence's hypotheses share its keys: they are just more queries.
        s_NQd = s_Rd.view(len(memory[0]), -1, s_Rd.shape[1])
        context_Rd = self.alignment(s_NQd, *memory).flatten(0, 1)
        s_Rd, after = self.layers.step(torch.cat([embedded_Rd, context_Rd, *fed], dim=1), before)
        t_Rd = self.dropout(self.w_t(torch.cat([s_Rd, context_Rd, embedded_Rd], dim=1)).tanh())
        return t_Rd, (*after, t_Rd) if self.input_feeding else after
