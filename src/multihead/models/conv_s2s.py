"""Convolutional sequence to sequence learning, ConvS2S (Gehring et al. 2017).

No state is carried from token to token, so training computes all positions in parallel. Every layer widens
the receptive field by a few tokens, and every layer of the decoder attends to the source.
"""

import torch
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import Source
from multihead.models._stepwise import Stepwise
from multihead.models._vocabularies import Vocabularies, embeddings
from multihead.nn import TokenEmbedding, masks
from multihead.nn.modules import Dropout
from multihead.nn.parts.convolution import SQRT_HALF, GatedConvolution, scaled_linear
from multihead.nn.parts.row_state import RowState
from multihead.nn.score_functions import DotScore

EMBEDDING_SIZE = 0.1
"""Initial standard deviation of embeddings (sec. 3.5): small, so that gates start half open."""


class Settings(Vocabularies):
    """Settings of ConvS2S; the sizes are those for WMT'16 English-Romanian (sec. 4.2 and 5.1)."""

    d_embedding: PositiveInt = 512
    """Width of the embeddings, and of the output layer's input."""
    d_hidden: PositiveInt = 512
    """Width of the convolutions."""
    num_layers: PositiveInt = 20
    """Number of encoder layers, and of decoder layers."""
    decoder_layers: NonNegativeInt = 0
    """Number of decoder layers if it differs; 0: num_layers."""
    kernel_size: PositiveInt = 3
    """Width of the convolutions' kernel in tokens; odd."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of embeddings, of every convolution's input and before the output layer (sec. 4.2)."""
    weight_norm: bool = True
    """Weight normalisation of all matrices except the embeddings (Salimans and Kingma 2016)."""
    max_positions: PositiveInt = 512
    """Number of learned positions: the maximum length of a sentence, its end symbol included."""

    @model_validator(mode="after")
    def _centred(self) -> "Settings":
        if self.kernel_size % 2 == 0:
            raise ValueError(f"kernel_size {self.kernel_size} is even; it must be odd")
        return self


class ConvS2S(Stepwise):
    """Convolutional encoder and decoder with attention in every decoder layer (figure 1)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = settings
        self.settings: Settings = s
        self.source_embedding, self.target_embedding, self.output = embeddings(
            s, s.d_embedding, size=EMBEDDING_SIZE
        )
        self.source_positions, self.target_positions = (
            TokenEmbedding(s.max_positions, s.d_embedding, size=EMBEDDING_SIZE) for _ in range(2)
        )
        self.encoder = Encoder(s)
        self.decoder_in, self.decoder_out = _in_and_out(s)
        self.decoder = nn.ModuleList(
            ConvolutionalDecoderLayer(s) for _ in range(s.decoder_layers or s.num_layers)
        )
        self.dropout = Dropout(s.dropout)

    @property
    def limit(self) -> int:
        """Maximum length of a source or target sequence, its end symbol included."""
        return self.settings.max_positions

    def encode(self, source: Source) -> RowState:
        """See ``Stepwise``.

        A sentence's hypotheses share the keys z, the values z + e, the padding mask, and sqrt(length). A
        hypothesis's own state is its length, and the last inputs of every layer's convolution.
        """
        lengths_B, ids_BS = source.lengths_B, source.ids_BS
        positions_S = torch.arange(self._within_limit(ids_BS.shape[1]), device=ids_BS.device)
        allowed = masks.padding(lengths_B, len(positions_S))
        e_BSd = self.dropout(self.source_embedding(ids_BS) + self.source_positions(positions_S))
        z_BSd = self.encoder(e_BSd, allowed[:, 0, 0])
        # Every decoder layer sends a gradient to the encoder; their mean is kept (sec. 3.4).
        z_BSd = torch.lerp(z_BSd.detach(), z_BSd, 1 / len(self.decoder))
        B, past = len(ids_BS), self.settings.kernel_size - 1
        nothing = z_BSd.new_zeros(B, past, self.settings.d_hidden)
        return RowState(
            B,
            source=(z_BSd, z_BSd + e_BSd, allowed, lengths_B.sqrt()[:, None, None]),
            own=(torch.zeros_like(lengths_B), *(nothing for _ in self.decoder)),
        )

    def read(self, tokens_R: Tensor, state: RowState) -> tuple[Tensor, RowState]:
        """See ``Stepwise``."""
        hidden_R1d, state = self._read(tokens_R[:, None], state)
        return hidden_R1d[:, 0], state

    def hidden(self, source: Source, target_BT: Tensor) -> Tensor:
        """See ``Stepwise``; all positions at once."""
        self._within_limit(target_BT.shape[1])
        hidden_BTd, _ = self._read(target_BT, self.encode(source))
        return hidden_BTd

    def _read(self, ids_RQ: Tensor, state: RowState) -> tuple[Tensor, RowState]:
        """Read Q more tokens per row; return (R, Q, d_embedding) and the new state."""
        length_R, *pasts = state.own
        positions_RQ = length_R[:, None] + torch.arange(ids_RQ.shape[1], device=ids_RQ.device)
        g_RQd = self.dropout(self.target_embedding(ids_RQ) + self.target_positions(positions_RQ))
        h_RQd, after = self.decoder_in(g_RQd), []
        for layer, past in zip(self.decoder, pasts, strict=True):
            h_RQd, past = layer(h_RQd, past, g_RQd, state.source)
            after.append(past)
        hidden_RQd: Tensor = self.dropout(self.decoder_out(h_RQd))
        arrays = (length_R + ids_RQ.shape[1], *after)
        return hidden_RQd, RowState(state.sentences, state.source, arrays)

    def _within_limit(self, length: int) -> int:
        if length > self.limit:
            raise ValueError(f"position {length} is beyond the {self.limit} learned positions")
        return length


class Encoder(nn.Module):
    """Gated convolutions around each word (sec. 3.2)."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        self.w_in, self.w_out = _in_and_out(s)
        self.layers = nn.ModuleList(_convolution(s) for _ in range(s.num_layers))

    def forward(self, e_BSd: Tensor, real_BS: Tensor) -> Tensor:
        """Map embeddings to z, (B, S, d_embedding); ``real_BS`` is False at padding."""
        real_BS1 = real_BS[:, :, None]
        h_BSd: Tensor = self.w_in(e_BSd) * real_BS1
        for layer in self.layers:
            # Padding is 0 in every layer, so a sentence does not depend on the batch's length.
            h_BSd = (layer(h_BSd) + h_BSd) * SQRT_HALF * real_BS1
        z_BSd: Tensor = self.w_out(h_BSd)
        return z_BSd


class ConvolutionalDecoderLayer(nn.Module):
    """A causal gated convolution, then attention over the source (sec. 3.3).

    d_i = W_d h_i + b_d + g_i,  a_i = softmax(d_i . z),  c_i = sum_j a_ij (z_j + e_j) (eq. 1 and 2)
    """

    def __init__(self, s: Settings) -> None:
        super().__init__()
        self.convolution = _convolution(s)
        self.w_d = scaled_linear(s.d_hidden, s.d_embedding, normalised=s.weight_norm)
        self.w_c = scaled_linear(s.d_embedding, s.d_hidden, normalised=s.weight_norm)
        self.score = DotScore()

    def forward(
        self, h_RQd: Tensor, past_RKd: Tensor, g_RQd: Tensor, source: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor]:
        """The next Q positions of R hypotheses, (R, Q, d_hidden), and the past for the next call.

        Args:
            h_RQd: the layer's input.
            past_RKd: the previous inputs.
            g_RQd: the target embeddings.
            source: see ``ConvS2S.encode``.
        """
        z_NSd, values_NSd, allowed, root_N11 = source
        y_RQd, past_RKd = self.convolution.after(past_RKd, h_RQd)
        d_RQd = (self.w_d(y_RQd) + g_RQd) * SQRT_HALF
        # A sentence's hypotheses share its keys: they are just more queries.
        d_NQd = d_RQd.reshape(len(z_NSd), -1, d_RQd.shape[-1])
        c_NQd = self.score(d_NQd[:, None], z_NSd[:, None], values_NSd[:, None], allowed)[:, 0]
        # Scale by m sqrt(1/m), so that a mean of m vectors keeps their variance (sec. 3.4).
        c_RQd = (c_NQd * root_N11).reshape(d_RQd.shape)
        y_RQd = (y_RQd + self.w_c(c_RQd)) * SQRT_HALF
        return (y_RQd + h_RQd) * SQRT_HALF, past_RKd


def _convolution(s: Settings) -> GatedConvolution:
    return GatedConvolution(s.d_hidden, s.kernel_size, dropout=s.dropout, normalised=s.weight_norm)


def _in_and_out(s: Settings) -> tuple[nn.Linear, nn.Linear]:
    return (
        scaled_linear(s.d_embedding, s.d_hidden, dropout=s.dropout, normalised=s.weight_norm),
        scaled_linear(s.d_hidden, s.d_embedding, normalised=s.weight_norm),
    )


Model = ConvS2S
