"""Sequence to sequence with attention (Bahdanau, Cho and Bengio 2015; scores of Luong et al. 2015).

A bidirectional recurrent encoder keeps a state for every source token. The decoder attends to all of them
before each token that it writes.
"""

from typing import Literal

import torch
from pydantic import NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import Source
from multihead.models._recurrent import Recurrent, RecurrentSettings
from multihead.models._vocabularies import embeddings
from multihead.nn import masks
from multihead.nn.initialisation import initialise
from multihead.nn.modules import Dropout
from multihead.nn.parts.alignment import ALIGNMENTS
from multihead.nn.parts.attentive_decoder import AttentiveDecoder
from multihead.nn.parts.cells import CELLS
from multihead.nn.parts.recurrent import BidirectionalStack, RecurrentStack
from multihead.nn.parts.row_state import RowState


class Settings(RecurrentSettings):
    """Settings of the attentional RNN; the defaults are RNNsearch (Bahdanau et al. 2015, appendix A.2.3)."""

    cell: Literal["lstm", "gru", "rnn"] = "gru"
    """Kind of recurrent layer: GRU as in the paper (Cho et al. 2014), LSTM, or the vanilla RNN (rnn, Elman
    1990)."""
    d_embedding: PositiveInt = 620
    """Width of the word embeddings, and of the output layer's input."""
    d_hidden: PositiveInt = 1000
    """Width of a decoder layer's state."""
    d_encoder: NonNegativeInt = 0
    """Width of an encoder layer's state, in each direction; 0: d_hidden, or half of it for the dot score,
    which needs equal widths."""
    d_alignment: NonNegativeInt = 0
    """Hidden width of the additive and concat scores; 0: d_hidden."""
    num_layers: PositiveInt = 1
    """Number of encoder layers, and of decoder layers."""
    score: Literal["additive", "dot", "general", "concat"] = "additive"
    """Attention score: additive (Bahdanau et al. 2015), or dot, general or concat (Luong et al. 2015, sec.
    3.1)."""
    input_feeding: bool = False
    """Input feeding: the decoder also reads its previous attentional state (Luong et al. 2015, sec. 3.3)."""

    @model_validator(mode="after")
    def _comparable(self) -> "Settings":
        if self.score == "dot" and 2 * self.encoder_width != self.d_hidden:
            raise ValueError(
                f'score = "dot" needs equal widths, but d_hidden is {self.d_hidden} and the encoder\'s two '
                f"directions have {self.encoder_width} each"
            )
        return self

    @property
    def encoder_width(self) -> int:
        """Width of one direction of the encoder."""
        return self.d_encoder or (self.d_hidden // 2 if self.score == "dot" else self.d_hidden)


class RnnAttention(Recurrent):
    """p(y_i | y_1, ..., y_i-1, x) = g(y_i-1, s_i, c_i), with the context vector c_i (eq. 4)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = settings
        self.settings: Settings = s
        self.encoder = BidirectionalStack(
            CELLS[s.cell], s.d_embedding, s.encoder_width, s.num_layers, dropout=s.dropout
        )
        d_h = self.encoder.d_out
        d_in = s.d_embedding * (1 + s.input_feeding) + d_h
        layers = RecurrentStack(CELLS[s.cell], d_in, s.d_hidden, s.num_layers, dropout=s.dropout)
        self.decoder = AttentiveDecoder(
            layers,
            ALIGNMENTS[s.score](s.d_hidden, d_h, s.d_alignment or s.d_hidden),
            d_embedding=s.d_embedding,
            d_h=d_h,
            input_feeding=s.input_feeding,
            dropout=s.dropout,
        )
        # W_s of appendix A.2.2, one for each tensor of the state.
        self.w_s = nn.ModuleList(nn.Linear(d_h, s.d_hidden) for _ in range(layers.state_size))
        initialise(self, "xavier")
        self.source_embedding, self.target_embedding, self.output = embeddings(s, s.d_embedding)
        self.dropout = Dropout(s.dropout)

    def encode(self, source: Source) -> RowState:
        """Read the source; the decoder's initial state is s_0 = tanh(W_s [last forward h; last backward h]).

        In A.2.2, W_s reads the backward h alone.
        """
        embedded_BSd = self.dropout(self.source_embedding(source.ids_BS))
        h_BSd, last = self.encoder(embedded_BSd, source.lengths_B)
        memory = self.decoder.memory(h_BSd, masks.padding(source.lengths_B, h_BSd.shape[1]))
        group = len(self.w_s) // len(last)
        s_0 = tuple(w_s(last[number // group]).tanh() for number, w_s in enumerate(self.w_s))
        return RowState(len(h_BSd), source=memory, own=self.decoder.begin(s_0))

    def read(self, tokens_R: Tensor, state: RowState) -> tuple[Tensor, RowState]:
        """See ``Stepwise``."""
        return self._read(self._embed(tokens_R), state)

    def hidden(self, source: Source, target_BT: Tensor) -> Tensor:
        """See ``Stepwise``; sequentially, because attention depends on the previous state."""
        state, hiddens = self.encode(source), []
        for embedded_Bd in self._embed(target_BT).unbind(1):
            hidden_Bd, state = self._read(embedded_Bd, state)
            hiddens.append(hidden_Bd)
        return torch.stack(hiddens, dim=1)

    def _embed(self, ids: Tensor) -> Tensor:
        embedded: Tensor = self.dropout(self.target_embedding(ids))
        return embedded

    def _read(self, embedded_Rd: Tensor, state: RowState) -> tuple[Tensor, RowState]:
        hidden_Rd, arrays = self.decoder(embedded_Rd, state.own, state.source)
        return hidden_Rd, RowState(state.sentences, state.source, arrays)


Model = RnnAttention
