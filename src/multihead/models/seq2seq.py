"""Sequence to sequence with a fixed context vector (Sutskever, Vinyals and Le 2014).

An LSTM reads the source; its last state, of fixed size, is all that a second LSTM knows of it. Translations
of long sentences suffer. Reading the source backwards helps (sec. 3.3): its first words are then close to the
first words of the target.
"""

from typing import Literal

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from multihead.batch import Source
from multihead.models._recurrent import Recurrent, RecurrentSettings
from multihead.models._vocabularies import embeddings
from multihead.nn.initialisation import initialise
from multihead.nn.modules import Dropout
from multihead.nn.parts.cells import CELLS
from multihead.nn.parts.recurrent import RecurrentStack
from multihead.nn.parts.row_state import RowState


class Settings(RecurrentSettings):
    """Settings of the sequence-to-sequence RNN; the defaults are the paper's (sec. 3.4)."""

    cell: Literal["lstm", "gru", "rnn"] = "lstm"
    """Kind of recurrent layer: LSTM as in the paper, GRU (Cho et al. 2014), or the vanilla RNN (rnn, Elman
    1990)."""
    d_embedding: PositiveInt = 1000
    """Width of the word embeddings."""
    d_hidden: PositiveInt = 1000
    """Width of a layer's state."""
    num_layers: PositiveInt = 4
    """Number of encoder layers, and of decoder layers."""
    reverse_source: bool = True
    """Read the source backwards (sec. 3.3)."""


class Seq2Seq(Recurrent):
    """p(y_1, ..., y_T | x) = prod_t p(y_t | v, y_1, ..., y_t-1), with the encoder's last state v (eq. 1)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = settings
        self.settings: Settings = s

        def stack() -> RecurrentStack:
            return RecurrentStack(CELLS[s.cell], s.d_embedding, s.d_hidden, s.num_layers, dropout=s.dropout)

        self.encoder, self.decoder = stack(), stack()
        # A tied output layer's input must be as wide as an embedding.
        self.readout = nn.Identity() if s.tied == "none" else nn.Linear(s.d_hidden, s.d_embedding)
        initialise(self, "xavier")
        self.source_embedding, self.target_embedding, self.output = embeddings(
            s, s.d_embedding, d_output=s.d_hidden
        )
        self.dropout = Dropout(s.dropout)

    def encode(self, source: Source) -> RowState:
        """Read the source; every layer's last state is the decoder's initial state."""
        ids_BS = source.ids_BS
        if self.settings.reverse_source:
            ids_BS = reversed_within(ids_BS, source.lengths_B)
        _, last = self.encoder(self.dropout(self.source_embedding(ids_BS)), source.lengths_B)
        return RowState(len(ids_BS), source=(), own=last)

    def read(self, tokens_R: Tensor, state: RowState) -> tuple[Tensor, RowState]:
        """See ``Stepwise``."""
        hidden_Rd, arrays = self.decoder.step(self.dropout(self.target_embedding(tokens_R)), state.own)
        return self._read_out(hidden_Rd), RowState(state.sentences, state.source, arrays)

    def hidden(self, source: Source, target_BT: Tensor) -> Tensor:
        """See ``Stepwise``; one call of each layer for all positions."""
        embedded_BTd = self.dropout(self.target_embedding(target_BT))
        hidden_BTd, _ = self.decoder(embedded_BTd, state=self.encode(source).own)
        return self._read_out(hidden_BTd)

    def _read_out(self, hidden: Tensor) -> Tensor:
        out: Tensor = self.readout(self.dropout(hidden))
        return out


def reversed_within(ids_BS: Tensor, lengths_B: Tensor) -> Tensor:
    """Reverse each sentence's tokens, (B, S); end symbol and padding keep their positions."""
    positions_S = torch.arange(ids_BS.shape[1], device=ids_BS.device)
    mirrored_BS = lengths_B[:, None] - 2 - positions_S
    return ids_BS.gather(1, torch.where(mirrored_BS >= 0, mirrored_BS, positions_S))


Model = Seq2Seq
