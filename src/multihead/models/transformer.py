"""The Transformer, "Attention Is All You Need" (Vaswani et al. 2017).

``Transformer(Settings())`` is the paper's base model; every other row of its Table 3 is a change of
settings.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import PairBatch, Source
from multihead.models._vocabularies import Vocabularies, embeddings
from multihead.nn import (
    DotProductAttention,
    FeedForward,
    LearnedPositions,
    Loss,
    MultiHeadAttention,
    PostNorm,
    PreNorm,
    SinusoidalPositions,
    TransformerDecoder,
    TransformerEncoder,
    masks,
)
from multihead.nn.ablations import NoNorm, NoResidual, PostBatchNorm
from multihead.nn.decoding import DecoderState, left_padded
from multihead.nn.description import (
    EmbeddingSpec,
    EncoderDecoderSpec,
    LinearSpec,
    PositionsSpec,
    StackSpec,
    describe,
)
from multihead.nn.initialisation import initialise
from multihead.nn.modules import Dropout
from multihead.nn.positions import NoPositions
from multihead.nn.residual import ResidualKind
from multihead.nn.rotary import RotaryPositions
from multihead.nn.score_functions import AdditiveScore, DotScore
from multihead.nn.teacher_forcing import next_token_loss, r_drop_loss, target_log_probabilities

RESIDUALS: dict[str, ResidualKind] = {
    "post": PostNorm,
    "pre": PreNorm,
    "batch": PostBatchNorm,
    "none": NoNorm,
}


class Settings(Vocabularies):
    """What makes a Transformer; the defaults are the paper's base model (Table 3)."""

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
    num_kv_heads: NonNegativeInt = 0
    """Heads of keys and values, a divisor of num_heads: query heads share them in groups (Ainslie et al.
    2023); 0: as many as num_heads."""
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
    r_drop: float = Field(0.0, ge=0)
    """How much two passes under different dropout shall agree in training (alpha of R-Drop, Liang et al.
    2021); for little data, try 5; an update takes twice as long; 0: one pass."""
    score: Literal["scaled_dot", "dot", "additive"] = "scaled_dot"
    """How queries and keys are compared: as published, without 1 / sqrt(d_k), or v . tanh(q + k) (Bahdanau et
    al. 2015)."""
    residual: bool = True
    """Residual connections (sec. 3.1); without them norm is "post"."""
    norm: Literal["post", "pre", "batch", "none"] = "post"
    """Layer norm after the residual connection, as published, or before the sublayer; batch norm after it; or
    no norm at all."""
    activation: Literal["relu", "gelu", "silu"] = "relu"
    """Of the feed-forward networks."""
    positions: Literal["sinusoidal", "sinusoidal_concatenated", "learned", "rotary", "none"] = "sinusoidal"
    """Positional encoding: interleaved as in the paper, halves as in the authors' code, learned, rotary (Su
    et al. 2021: turns queries and keys of self-attention), none."""
    max_positions: PositiveInt = 512
    """How many positions are learned (positions = "learned")."""
    tied: Literal["all", "decoder", "none"] = "all"
    """One matrix for both embeddings and the output layer (sec. 3.4); for the decoder's two; for none."""
    output_bias: bool = False
    """A bias in the output layer (the paper: none; Marian has one)."""
    window: NonNegativeInt = 0
    """Restricted self-attention (sec. 4, Table 1): a position attends only to the r around it, itself in the
    middle, so r is odd; 0: to all. A mask: it changes the model and saves no time."""
    initialisation: Literal["xavier", "lecun", "normal"] = "xavier"
    """How matrices begin."""

    @property
    def head_width(self) -> int:
        """d_k, also where it follows from d_model and num_heads."""
        return self.d_k or self.d_model // self.num_heads

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if not self.d_k and self.d_model % self.num_heads:
            raise ValueError(
                f"d_model {self.d_model} is not a multiple of num_heads {self.num_heads}; "
                "change one or set d_k"
            )
        if self.num_kv_heads and self.num_heads % self.num_kv_heads:
            raise ValueError(
                f"num_heads {self.num_heads} is not a multiple of num_kv_heads {self.num_kv_heads}"
            )
        if self.positions == "rotary" and self.head_width % 2:
            raise ValueError('positions = "rotary" turns pairs, and the width of a head, d_k, is odd')
        if self.window and self.window % 2 == 0:
            raise ValueError(f"window {self.window} is even: no position stands in its middle")
        if not self.residual and self.norm != "post":
            raise ValueError(f'residual = false goes with norm = "post", not "{self.norm}"')
        if self.attention_dropout and self.score != "scaled_dot":
            raise ValueError(f'attention_dropout goes with score = "scaled_dot", not "{self.score}"')
        return self


class Transformer(nn.Module):
    """Encoder and decoder (figure 1). Maps source and target ids to logits of the next target token."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = self.settings = settings

        def attention(rotary: RotaryPositions | None = None) -> MultiHeadAttention:
            return MultiHeadAttention(
                s.d_model,
                s.num_heads,
                num_kv_heads=s.num_kv_heads or None,
                d_k=s.d_k or None,
                d_v=s.d_v or None,
                score=_score(s),
                rotary=rotary,
            )

        def self_attention() -> MultiHeadAttention:
            return attention(RotaryPositions(s.head_width) if s.positions == "rotary" else None)

        def feed_forward() -> FeedForward:
            return FeedForward(s.d_model, s.d_ff, activation=s.activation, dropout=s.activation_dropout)

        residual = RESIDUALS[s.norm] if s.residual else NoResidual
        self.encoder = TransformerEncoder(
            s.num_layers,
            s.d_model,
            attention=self_attention,
            feed_forward=feed_forward,
            residual=residual,
            dropout=s.dropout,
        )
        self.decoder = TransformerDecoder(
            s.decoder_layers or s.num_layers,
            s.d_model,
            attention=self_attention,
            cross_attention=attention,
            feed_forward=feed_forward,
            residual=residual,
            dropout=s.dropout,
        )
        initialise(self, s.initialisation)
        self.source_embedding, self.target_embedding, self.output = embeddings(s, s.d_model)
        self.output_bias = nn.Parameter(torch.zeros(s.target_vocab)) if s.output_bias else None
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
        return self.output.logits(self.hidden(source_BS, target_BT, source_lengths_B), self.output_bias)

    def hidden(self, source_BS: Tensor, target_BT: Tensor, source_lengths_B: Tensor | None = None) -> Tensor:
        """The decoder's output before the output layer, (B, T, d_model); arguments as :meth:`forward`."""
        source_allowed = None
        if source_lengths_B is not None:
            source_allowed = masks.padding(source_lengths_B, source_BS.shape[1])
        memory_BSd = self.encode(source_BS, source_allowed)
        x_BTd = self.dropout(self.target_positions(self.target_embedding(target_BT)))
        allowed = self._nearby(target_BT, masks.causal(target_BT.shape[1], target_BT.device))
        hidden_BTd: Tensor = self.decoder(x_BTd, memory_BSd, allowed, source_allowed)
        return hidden_BTd

    def encode(self, source_BS: Tensor, allowed: Tensor | None) -> Tensor:
        """The encoder's output, (B, S, d_model)."""
        x_BSd = self.dropout(self.source_positions(self.source_embedding(source_BS)))
        memory_BSd: Tensor = self.encoder(x_BSd, self._nearby(source_BS, allowed))
        return memory_BSd

    def _nearby(self, ids_BN: Tensor, allowed: Tensor | None) -> Tensor | None:
        """What self-attention may look at, given what is allowed besides."""
        if not self.settings.window:
            return allowed
        nearby = masks.window(ids_BN.shape[1], self.settings.window, ids_BN.device)
        return nearby if allowed is None else nearby & allowed

    # --- training and scoring -------------------------------------------------------------------

    @property
    def capturable(self) -> bool:
        """Whether the loss is a fixed sequence of kernels for a shape of batch (``training.cuda_graphs``)."""
        return not self.settings.r_drop

    def loss(self, batch: PairBatch, step: int) -> Loss:
        """Smoothed cross-entropy a target token, or R-Drop; log-likelihood and accuracy as metrics."""
        s, weight, bias = self.settings, self.output.weight, self.output_bias

        def hidden() -> Tensor:
            return self.hidden(batch.source.ids_BS, batch.target_in, batch.source.lengths_B)

        if s.r_drop and self.training:
            both_BT2d = torch.stack([hidden(), hidden()], dim=2)
            return r_drop_loss(both_BT2d, weight, batch, s.label_smoothing, s.r_drop, bias)
        return next_token_loss(hidden(), weight, batch, s.label_smoothing, bias)

    def score(self, batch: PairBatch) -> Tensor:
        """Log-probability of each target token, (B, T - 1); 0 where there is padding."""
        logits_BTV = self(batch.source.ids_BS, batch.target_in, batch.source.lengths_B)
        return target_log_probabilities(logits_BTV, batch)

    def describe(self) -> EncoderDecoderSpec:
        """The description that engines and exports read."""
        output = describe(self.output, EmbeddingSpec)
        return EncoderDecoderSpec(
            source=describe(self.source_embedding, EmbeddingSpec),
            source_positions=describe(self.source_positions, PositionsSpec),
            target=describe(self.target_embedding, EmbeddingSpec),
            target_positions=describe(self.target_positions, PositionsSpec),
            encoder=describe(self.encoder, StackSpec),
            decoder=describe(self.decoder, StackSpec),
            output=LinearSpec(output.weight, self.output_bias),
            window=self.settings.window,
        )

    # --- search ---------------------------------------------------------------------------------

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> DecoderState:
        """Read the source and all of each prefix but its last token (``search.Stepper``)."""
        source_allowed = masks.padding(source.lengths_B, source.ids_BS.shape[1])
        memory_BSd = self.encode(source.ids_BS, source_allowed)
        ids_BQ, shift_B = left_padded([prefix[:-1] for prefix in prefixes], source.ids_BS.device)
        reach = self.settings.window // 2 if self.settings.window else None
        state = DecoderState(self.decoder.begin(memory_BSd), source_allowed, shift_B, reach=reach)
        if ids_BQ.shape[1]:
            self._advance(ids_BQ, state)
        return state

    def step(self, tokens_R: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Append one token to every hypothesis; logits of the next, (R, V) (``search.Stepper``)."""
        hidden_R1d = self._advance(tokens_R[:, None], state)
        return self.output.logits(hidden_R1d[:, 0], self.output_bias), state

    def _advance(self, ids_RQ: Tensor, state: DecoderState) -> Tensor:
        shift_R, allowed = state.shift_and_mask(ids_RQ)
        x_RQd = self.target_positions(self.target_embedding(ids_RQ), state.length, shift_R)
        return self.decoder.step(x_RQd, state.caches, allowed, state.source_allowed)


def _score(s: Settings) -> nn.Module:
    if s.score == "scaled_dot":
        return DotProductAttention(s.attention_dropout)
    return DotScore() if s.score == "dot" else AdditiveScore(s.head_width)


def _positions(s: Settings) -> nn.Module:
    if s.positions == "learned":
        return LearnedPositions(s.max_positions, s.d_model)
    if s.positions in ("rotary", "none"):
        return NoPositions()
    return SinusoidalPositions(s.d_model, interleaved=s.positions == "sinusoidal")


Model = Transformer
