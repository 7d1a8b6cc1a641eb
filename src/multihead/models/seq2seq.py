"""Sequence to sequence with a fixed context vector (Sutskever, Vinyals and Le 2014).

An LSTM reads the source; its last state, vectors of a fixed size, is all that another LSTM gets to write the
target from. Long sentences suffer, less if the source is read backwards (sec. 3.3): its first words are then
close to the first words that are written.
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
from multihead.nn.recurrent import RecurrentStack
from multihead.nn.row_state import RowState


class Settings(RecurrentSettings):
    """What makes it; the defaults are the paper's (sec. 3.4)."""

    cell: Literal["lstm", "gru"] = "lstm"
    """Kind of recurrent layer: the paper's LSTM, or the GRU (Cho et al. 2014)."""
    d_embedding: PositiveInt = 1000
    """Width of the word embeddings."""
    d_hidden: PositiveInt = 1000
    """Width of a layer's state."""
    num_layers: PositiveInt = 4
    """Layers of the encoder, and of the decoder."""
    reverse_source: bool = True
    """Read the source from its end to its beginning (sec. 3.3)."""


class Seq2Seq(Recurrent):
    """p(y_1, ..., y_T | x) = prod_t p(y_t | v, y_1, ..., y_t-1), v the encoder's last state (eq. 1)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = settings
        self.settings: Settings = s

        def stack() -> RecurrentStack:
            return RecurrentStack(s.cell, s.d_embedding, s.d_hidden, s.num_layers, dropout=s.dropout)

        self.encoder, self.decoder = stack(), stack()
        # A tied output layer reads what is as wide as an embedding.
        self.readout = nn.Identity() if s.tied == "none" else nn.Linear(s.d_hidden, s.d_embedding)
        initialise(self, "xavier")
        self.source_embedding, self.target_embedding, self.output = embeddings(
            s, s.d_embedding, d_output=s.d_hidden
        )
        self.dropout = Dropout(s.dropout)

    def encode(self, source: Source) -> RowState:
        """Read the source; its last state in every layer is the decoder's first."""
        ids_BS = source.ids_BS
        if self.settings.reverse_source:
            ids_BS = reversed_within(ids_BS, source.lengths_B)
        _, last = self.encoder(self.dropout(self.source_embedding(ids_BS)), source.lengths_B)
        return RowState(len(ids_BS), source=(), own=last)

    def read(self, tokens_R: Tensor, state: RowState) -> tuple[Tensor, RowState]:
        """See ``Stepwise``."""
        hidden_Rd, own = self.decoder.step(self.dropout(self.target_embedding(tokens_R)), state.own)
        return self._read_out(hidden_Rd), RowState(state.sentences, state.source, own)

    def hidden(self, source: Source, target_BT: Tensor) -> Tensor:
        """See ``Stepwise``; all positions in one call of each layer."""
        embedded_BTd = self.dropout(self.target_embedding(target_BT))
        hidden_BTd, _ = self.decoder(embedded_BTd, state=self.encode(source).own)
        return self._read_out(hidden_BTd)

    def _read_out(self, hidden: Tensor) -> Tensor:
        read: Tensor = self.readout(self.dropout(hidden))
        return read


def reversed_within(ids_BS: Tensor, lengths_B: Tensor) -> Tensor:
    """Each sentence's words in the opposite order, (B, S); end symbol and padding stay where they are."""
    places_S = torch.arange(ids_BS.shape[1], device=ids_BS.device)
    mirrored_BS = lengths_B[:, None] - 2 - places_S
    return ids_BS.gather(1, torch.where(mirrored_BS >= 0, mirrored_BS, places_S))


Model = Seq2Seq
