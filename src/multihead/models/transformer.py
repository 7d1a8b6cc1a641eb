"""The Transformer, "Attention Is All You Need" (Vaswani et al. 2017).

``Transformer(Settings())`` is the paper's base model; every other row of its Table 3 is a change of
settings.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from multihead import settings
from multihead.batch import PairBatch, Source
from multihead.nn import (
    FeedForward,
    LearnedPositions,
    Loss,
    MultiHeadAttention,
    PostNorm,
    PreNorm,
    SinusoidalPositions,
    Term,
    TokenEmbedding,
    TransformerDecoder,
    TransformerEncoder,
    masks,
)
from multihead.nn.decoding import DecoderState, left_padded
from multihead.nn.dropout import Dropout
from multihead.nn.initialisation import initialise
from multihead.nn.kernels.linear_cross_entropy import linear_cross_entropy
from multihead.nn.positions import NoPositions


class Settings(settings.Settings):
    """What makes a Transformer; the defaults are the paper's base model (Table 3)."""

    source_vocab: PositiveInt = 37_000
    """Size of the source vocabulary; taken from the tokenizer."""
    target_vocab: PositiveInt = 37_000
    """Size of the target vocabulary; taken from the tokenizer."""
    d_model: PositiveInt = 512
    """Width of embeddings and of the residual stream."""
    d_ff: PositiveInt = 2048
    """Inner width of the feed-forward networks."""
    num_layers: PositiveInt = 6
    """Layers of the encoder, and of the decoder."""
    decoder_layers: NonNegativeInt = 0
    """Layers of the decoder where they differ; 0: num_layers."""
    num_heads: PositiveInt = 8
    """Attention heads, h of the paper."""
    d_k: NonNegativeInt = 0
    """Width of a head's queries and keys; 0: d_model / num_heads."""
    d_v: NonNegativeInt = 0
    """Width of a head's values; 0: d_k."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of every sublayer's output and of embeddings plus positions (sec. 5.4)."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout of attention weights (the paper: none)."""
    activation_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout inside the feed-forward networks (the paper: none)."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """epsilon_ls (sec. 5.4)."""
    norm: Literal["post", "pre"] = "post"
    """Layer norm after the residual connection, as published, or before the sublayer."""
    activation: Literal["relu", "gelu"] = "relu"
    """Of the feed-forward networks."""
    positions: Literal["sinusoidal", "sinusoidal_concatenated", "learned", "none"] = "sinusoidal"
    """Positional encoding: interleaved as in the paper, halves as in the authors' code, learned, none."""
    max_positions: PositiveInt = 512
    """How many positions are learned (positions = "learned")."""
    tied: Literal["all", "decoder", "none"] = "all"
    """One matrix for both embeddings and the output layer (sec. 3.4); for the decoder's two; for none."""
    initialisation: Literal["xavier", "lecun", "normal"] = "xavier"
    """How matrices begin."""

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if not self.d_k and self.d_model % self.num_heads:
            raise ValueError(
                f"d_model {self.d_model} is not a multiple of num_heads {self.num_heads}; "
                "change one or set d_k"
            )
        if self.tied == "all" and self.source_vocab != self.target_vocab:
            raise ValueError(
                f'tied = "all" needs one vocabulary, not {self.source_vocab} and {self.target_vocab} pieces; '
                'set tokenizer.joint = true, or tied = "decoder"'
            )
        return self


class Transformer(nn.Module):
    """Encoder and decoder (figure 1). Maps source and target ids to logits of the next target token."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = self.settings = settings

        def attention() -> MultiHeadAttention:
            return MultiHeadAttention(
                s.d_model, s.num_heads, d_k=s.d_k or None, d_v=s.d_v or None, dropout=s.attention_dropout
            )

        def feed_forward() -> FeedForward:
            return FeedForward(s.d_model, s.d_ff, activation=s.activation, dropout=s.activation_dropout)

        residual = PostNorm if s.norm == "post" else PreNorm
        self.encoder = TransformerEncoder(
            s.num_layers,
            s.d_model,
            attention=attention,
            feed_forward=feed_forward,
            residual=residual,
            dropout=s.dropout,
        )
        self.decoder = TransformerDecoder(
            s.decoder_layers or s.num_layers,
            s.d_model,
            attention=attention,
            feed_forward=feed_forward,
            residual=residual,
            dropout=s.dropout,
        )
        initialise(self, s.initialisation)
        self.target_embedding = TokenEmbedding(s.target_vocab, s.d_model)
        self.source_embedding = (
            self.target_embedding if s.tied == "all" else TokenEmbedding(s.source_vocab, s.d_model)
        )
        self.output = self.target_embedding if s.tied != "none" else TokenEmbedding(s.target_vocab, s.d_model)
        self.source_positions, self.target_positions = _positions(s), _positions(s)
        self.dropout = Dropout(s.dropout)

    @property
    def limit(self) -> int | None:
        """The longest sequence that the model can read or write, its end symbol included; None: any."""
        s = self.settings
        return s.max_positions if s.positions == "learned" else None

    def forward(self, source_BS: Tensor, target_BT: Tensor, source_lengths_B: Tensor | None = None) -> Tensor:
        """Logits of the token after each target token, (B, T, V).

        Args:
            source_BS: source ids, padded on the right.
            target_BT: target ids beginning with the begin symbol, padded on the right. A position sees
                only what stands before it, so padding on the right needs no mask.
            source_lengths_B: the source's true lengths; None: no padding.
        """
        return self.output.logits(self.hidden(source_BS, target_BT, source_lengths_B))

    def hidden(self, source_BS: Tensor, target_BT: Tensor, source_lengths_B: Tensor | None = None) -> Tensor:
        """The decoder's output before the output layer, (B, T, d_model); arguments as :meth:`forward`."""
        source_allowed = None
        if source_lengths_B is not None:
            source_allowed = masks.padding(source_lengths_B, source_BS.shape[1])
        memory_BSd = self.encode(source_BS, source_allowed)
        x_BTd = self.dropout(self.target_positions(self.target_embedding(target_BT)))
        allowed = masks.causal(target_BT.shape[1], target_BT.device)
        hidden_BTd: Tensor = self.decoder(x_BTd, memory_BSd, allowed, source_allowed)
        return hidden_BTd

    def encode(self, source_BS: Tensor, allowed: Tensor | None) -> Tensor:
        """The encoder's output, (B, S, d_model)."""
        x_BSd = self.dropout(self.source_positions(self.source_embedding(source_BS)))
        memory_BSd: Tensor = self.encoder(x_BSd, allowed)
        return memory_BSd

    # --- training and scoring -------------------------------------------------------------------

    def loss(self, batch: PairBatch, step: int) -> Loss:
        """Smoothed cross-entropy a target token; negative log-likelihood and accuracy as metrics."""
        real_BT = masks.padding(batch.target_lengths_B, batch.target_in.shape[1])[:, 0, 0]
        hidden_BTd = self.hidden(batch.source.ids_BS, batch.target_in, batch.source.lengths_B)
        # Padding is taken out before the output layer, the widest of all.
        smoothed, nll, correct = linear_cross_entropy(
            hidden_BTd[real_BT], self.output.weight, batch.target_out[real_BT], self.settings.label_smoothing
        )
        return {
            "loss": Term(1.0, smoothed, per="tokens"),
            "nll": Term(0.0, nll, per="tokens"),
            "accuracy": Term(0.0, correct, per="tokens"),
        }

    def score(self, batch: PairBatch) -> Tensor:
        """Log-probability of each target token, (B, T - 1); 0 where there is padding."""
        logits_BTV = self(batch.source.ids_BS, batch.target_in, batch.source.lengths_B)
        log_p_BT = logits_BTV.float().log_softmax(-1).gather(2, batch.target_out[..., None])[..., 0]
        real_BT = masks.padding(batch.target_lengths_B, log_p_BT.shape[1])[:, 0, 0]
        return torch.where(real_BT, log_p_BT, 0.0)

    # --- search ---------------------------------------------------------------------------------

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> DecoderState:
        """Read the source and all of each prefix but its last token (``search.Stepper``)."""
        source_allowed = masks.padding(source.lengths_B, source.ids_BS.shape[1])
        memory_BSd = self.encode(source.ids_BS, source_allowed)
        ids_BQ, shift_B = left_padded([prefix[:-1] for prefix in prefixes], source.ids_BS.device)
        state = DecoderState(self.decoder.begin(memory_BSd), source_allowed, shift_B)
        if ids_BQ.shape[1]:
            self._advance(ids_BQ, state)
        return state

    def step(self, tokens_R: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Append one token to every hypothesis; logits of the next, (R, V) (``search.Stepper``)."""
        hidden_R1d = self._advance(tokens_R[:, None], state)
        return self.output.logits(hidden_R1d[:, 0]), state

    def _advance(self, ids_RQ: Tensor, state: DecoderState) -> Tensor:
        shift_R, allowed = state.before(ids_RQ)
        x_RQd = self.target_positions(self.target_embedding(ids_RQ), state.length, shift_R)
        return self.decoder.step(x_RQd, state.caches, allowed, state.source_allowed)


def _positions(s: Settings) -> nn.Module:
    if s.positions == "learned":
        return LearnedPositions(s.max_positions, s.d_model)
    if s.positions == "none":
        return NoPositions()
    return SinusoidalPositions(s.d_model, interleaved=s.positions == "sinusoidal")


Model = Transformer
