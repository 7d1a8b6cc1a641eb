"""Google's translation system, GNMT: deep residual LSTMs with attention (Wu et al. 2016, sec. 3).

The lowest encoder layer reads both ways, the others forward. The lowest decoder layer's state attends to the
source before each token, and every decoder layer reads the context. From the third layer on, a layer's input
is added to its output (sec. 3.1), without which so many layers do not train.
"""

from itertools import pairwise

import torch
from pydantic import Field, NonNegativeInt, PositiveInt
from torch import Tensor, nn

from multihead.batch import Source
from multihead.models._recurrent import Recurrent, RecurrentSettings
from multihead.models._vocabularies import embeddings
from multihead.nn import masks
from multihead.nn.initialisation import initialise
from multihead.nn.modules import Dropout
from multihead.nn.parts.alignment import ALIGNMENTS
from multihead.nn.parts.cells import CELLS
from multihead.nn.parts.recurrent import BidirectionalStack, RecurrentStack
from multihead.nn.parts.row_state import RowState

RESIDUAL = 2
"""Number of layers at the bottom without a residual connection."""


class Settings(RecurrentSettings):
    """Settings of GNMT; the defaults are the paper's (sec. 3.1, 8.3)."""

    d_embedding: PositiveInt = 1024
    """Width of the word embeddings."""
    d_hidden: PositiveInt = 1024
    """Width of a layer's state."""
    d_alignment: NonNegativeInt = 0
    """Hidden width of the attention score; 0: d_hidden."""
    num_layers: int = Field(8, ge=2)
    """Number of encoder layers, and of decoder layers."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Dropout of embeddings, between layers and before the output layer."""


class GNMT(Recurrent):
    """p(y_i | y_1, ..., y_i-1, x) by stacks of residual recurrent layers (eq. 1 to 4, 7)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = settings
        self.settings: Settings = s
        cell, d = CELLS[s.cell], s.d_hidden
        self.bottom = BidirectionalStack(cell, s.d_embedding, d, 1)
        widths = [2 * d, *[d] * (s.num_layers - 1)]
        self.encoder = nn.ModuleList(RecurrentStack(cell, wide, out, 1) for wide, out in pairwise(widths))
        self.alignment = ALIGNMENTS["additive"](d, d, s.d_alignment or d)
        inputs = [s.d_embedding, *[d] * (s.num_layers - 1)]
        self.decoder = nn.ModuleList(RecurrentStack(cell, wide + d, d, 1) for wide in inputs)
        # A tied output layer's input must be as wide as an embedding.
        self.readout = nn.Identity() if s.tied == "none" else nn.Linear(d, s.d_embedding)
        initialise(self, "xavier")
        self.source_embedding, self.target_embedding, self.output = embeddings(s, s.d_embedding, d_output=d)
        self.dropout = Dropout(s.dropout)

    def encode(self, source: Source) -> RowState:
        """Read the source; the decoder's layers start from zeros."""
        h_BSd, _ = self.bottom(self.dropout(self.source_embedding(source.ids_BS)), source.lengths_B)
        for number, layer in enumerate(self.encoder, start=1):
            read_BSd = self.dropout(h_BSd)
            out_BSd, _ = layer(read_BSd)
            h_BSd = out_BSd + read_BSd if number >= RESIDUAL else out_BSd
        memory = self.alignment.keys(h_BSd), h_BSd, masks.padding(source.lengths_B, h_BSd.shape[1])
        size = sum(layer.state_size for layer in self._decoder())
        nothing = h_BSd.new_zeros(len(h_BSd), self.settings.d_hidden)
        return RowState(len(h_BSd), source=memory, own=(nothing,) * size)

    def read(self, tokens_R: Tensor, state: RowState) -> tuple[Tensor, RowState]:
        """See ``Stepwise``."""
        bottom, *above = self._decoder()
        size = bottom.state_size
        x_Rd, context_Rd, new = self._attend(self._embed(tokens_R), state.own[:size], state.source)
        arrays = [*new]
        for number, layer in enumerate(above, start=1):
            read_Rd = self.dropout(x_Rd)
            before = state.own[number * size : (number + 1) * size]
            out_Rd, after = layer.step(torch.cat([read_Rd, context_Rd], dim=1), before)
            x_Rd = out_Rd + read_Rd if number >= RESIDUAL else out_Rd
            arrays += after
        return self._read_out(x_Rd), RowState(state.sentences, state.source, tuple(arrays))

    def hidden(self, source: Source, target_BT: Tensor) -> Tensor:
        """See ``Stepwise``; only the lowest layer is sequential, because attention depends on it alone."""
        state = self.encode(source)
        _, *above = self._decoder()
        decoder_state = state.own[: self._decoder()[0].state_size]
        outs, contexts = [], []
        for embedded_Bd in self._embed(target_BT).unbind(1):
            out_Bd, context_Bd, decoder_state = self._attend(embedded_Bd, decoder_state, state.source)
            outs.append(out_Bd)
            contexts.append(context_Bd)
        x_BTd, context_BTd = torch.stack(outs, dim=1), torch.stack(contexts, dim=1)
        for number, layer in enumerate(above, start=1):
            read_BTd = self.dropout(x_BTd)
            out_BTd, _ = layer(torch.cat([read_BTd, context_BTd], dim=2))
            x_BTd = out_BTd + read_BTd if number >= RESIDUAL else out_BTd
        return self._read_out(x_BTd)

    def _attend(
        self, embedded_Rd: Tensor, own: tuple[Tensor, ...], memory: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """The lowest layer's next output, the context of its state (eq. 4), and its next state."""
        keys_NSd, h_NSd, allowed = memory
        # A sentence's hypotheses share its keys: they are just more queries.
        s_NQd = own[0].view(len(keys_NSd), -1, own[0].shape[1])
        context_Rd = self.alignment(s_NQd, keys_NSd, h_NSd, allowed).flatten(0, 1)
        out_Rd, after = self._decoder()[0].step(torch.cat([embedded_Rd, context_Rd], dim=1), own)
        return out_Rd, context_Rd, after

    def _embed(self, ids: Tensor) -> Tensor:
        embedded: Tensor = self.dropout(self.target_embedding(ids))
        return embedded

    def _read_out(self, hidden: Tensor) -> Tensor:
        out: Tensor = self.readout(self.dropout(hidden))
        return out

    def _decoder(self) -> list[RecurrentStack]:
        return [layer for layer in self.decoder if isinstance(layer, RecurrentStack)]


Model = GNMT
