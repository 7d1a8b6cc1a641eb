"""A recurrent decoder that looks at the source before each word (Bahdanau et al. 2015, sec. 3.1, A.2.2).

    alpha_i = softmax(score(s_i-1, h)),  c_i = sum_j alpha_ij h_j     energies from the previous state
    s_i = f(s_i-1, [E y_i-1; c_i])                                    the context joined to the input
    t_i = tanh(W_t [s_i; c_i; E y_i-1])                               ... and to the output layer

With input feeding (Luong et al. 2015, sec. 3.3) f reads t_i-1 too, so that it knows where it looked before.
The paper's output layer (A.2.2) reads s_i-1, and takes the larger of each two units (maxout); this one reads
s_i and has a tanh, as Luong's.
"""

import torch
from torch import Tensor, nn

from multihead.nn.alignment import AlignmentModel
from multihead.nn.modules import Dropout
from multihead.nn.recurrent import RecurrentStack, State

Memory = tuple[Tensor, Tensor, Tensor]
"""What a decoder looks at: keys (N, S, d); values h, (N, S, d_h); which positions are real, (N, 1, 1, S)."""


class AttentiveDecoder(nn.Module):
    """Reads one token after the other and writes t_i, what the output layer reads.

    Args:
        layers: f; they read E y, c and, with input feeding, t.
        alignment: compares s and h.
        d_embedding: width of E y, and of t.
        d_h: width of h.
        input_feeding: whether t_i-1 is read.
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
        """What the decoder looks at, given the source's states and which are real, (B, 1, 1, S)."""
        return self.alignment.keys(h_BSd), h_BSd, allowed

    def begin(self, layers_state: State) -> State:
        """The state before the first token, given that of the recurrent layers."""
        if not self.input_feeding:
            return layers_state
        s_Bd = self.layers.top(layers_state)
        return (*layers_state, s_Bd.new_zeros(len(s_Bd), self.w_t.out_features))

    def forward(self, embedded_Rd: Tensor, state: State, memory: Memory) -> tuple[Tensor, State]:
        """Read a token; return t, (R, d_embedding), and the new state.

        Args:
            embedded_Rd: E y of R hypotheses, equally many of each of the memory's N sentences, in order.
            state: from ``begin`` or the call before.
            memory: of the N sentences.
        """
        size = self.layers.state_size
        before, fed = state[:size], state[size:]
        s_Rd = self.layers.top(before)
        # A sentence's hypotheses share its keys: to the source they are just more queries.
        s_NQd = s_Rd.view(len(memory[0]), -1, s_Rd.shape[1])
        context_Rd = self.alignment(s_NQd, *memory).flatten(0, 1)
        s_Rd, after = self.layers.step(torch.cat([embedded_Rd, context_Rd, *fed], dim=1), before)
        t_Rd = self.dropout(self.w_t(torch.cat([s_Rd, context_Rd, embedded_Rd], dim=1)).tanh())
        return t_Rd, (*after, t_Rd) if self.input_feeding else after
