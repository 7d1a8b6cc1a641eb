"""The Transformer, "Attention Is All You Need" (Vaswani et al. 2017).

``Transformer(Settings())`` is the paper's base model; every other row of its Table 3 is a change of
settings.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import PairBatch, Source
from multihead.models._vocabularies import Vocabularies, embeddings
from multihead.nn import (
    DecoderLayer,
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
from multihead.nn.decoding import DecoderState, left_padded, without_first
from multihead.nn.description import (
    EmbeddingSpec,
    EncoderDecoderSpec,
    LinearSpec,
    PositionsSpec,
    StackSpec,
    describe,
)
from multihead.nn.initialisation import initialise, shrink_outputs
from multihead.nn.modules import Dropout, set_epsilon
from multihead.nn.parts.ablations import NoNorm, NoResidual, PostBatchNorm
from multihead.nn.parts.gated_feed_forward import GATES, GatedFeedForward
from multihead.nn.parts.relative_scores import LinearBiases, QueryKeyNorm, RelativePositions
from multihead.nn.parts.rotary import RotaryPositions
from multihead.nn.parts.ssru import SSRU, RecurrentDecoderLayer
from multihead.nn.parts.window import WindowAttention, WindowedScore
from multihead.nn.positions import NoPositions
from multihead.nn.residual import PreRMSNorm, ResidualKind
from multihead.nn.score_functions import AdditiveScore, DotScore
from multihead.nn.teacher_forcing import next_token_loss, r_drop_loss, target_log_probabilities

RESIDUALS: dict[str, ResidualKind] = {
    "post": PostNorm,
    "pre": PreNorm,
    "pre_rms": PreRMSNorm,
    "batch": PostBatchNorm,
    "none": NoNorm,
}


SCORES_BY_POSITION: dict[str, Callable[["Settings"], nn.Module]] = {
    "alibi": lambda s: LinearBiases(s.num_heads, s.attention_dropout),
    "relative": lambda s: RelativePositions(s.head_width, s.d_v or None, dropout=s.attention_dropout),
}
"""Scores of self-attention that know positions, which are then not added to the embeddings."""


class Settings(Vocabularies):
    """Settings of the Transformer; the defaults are the paper's base model (Table 3)."""

    d_model: PositiveInt = 512
    """Width of embeddings and of the residual stream."""
    d_ff: PositiveInt = 2048
    """Inner width of the feed-forward networks."""
    num_layers: PositiveInt = 6
    """Number of encoder layers, and of decoder layers."""
    decoder_layers: NonNegativeInt = 0
    """Number of decoder layers if it differs; 0: num_layers."""
    num_heads: PositiveInt = 8
    """Number of attention heads, h in the paper."""
    num_kv_heads: NonNegativeInt = 0
    """Number of key/value heads, a divisor of num_heads: query heads share them in groups (grouped-query
    attention, Ainslie et al. 2023); 0: num_heads."""
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
    """Label smoothing, epsilon_ls (sec. 5.4)."""
    r_drop: float = Field(0.0, ge=0)
    """R-Drop (Liang et al. 2021): weight alpha of the KL divergence between two passes under different
    dropout. For little data, try 5. An update takes twice as long; 0: off."""
    score: Literal["scaled_dot", "dot", "additive", "query_key_norm"] = "scaled_dot"
    """Attention score: scaled dot product as published, unscaled dot product, additive, v . tanh(q + k)
    (Bahdanau et al. 2015), or a scaled cosine (query_key_norm, Henry et al. 2020)."""
    residual: bool = True
    """Residual connections (sec. 3.1); false needs norm = "post"."""
    norm: Literal["post", "pre", "pre_rms", "batch", "none"] = "post"
    """Normalisation: layer norm after the residual connection as published (post), layer norm or root mean
    square norm (Zhang and Sennrich 2019) before the sublayer (pre, pre_rms), batch norm after the residual
    connection (batch), or none."""
    activation: Literal["relu", "gelu", "silu", "swiglu", "geglu"] = "relu"
    """Activation of the feed-forward networks; swiglu and geglu are gated by a third matrix (Shazeer
    2020), so that 2/3 of d_ff keep the number of parameters."""
    positions: Literal[
        "sinusoidal", "sinusoidal_concatenated", "learned", "rotary", "alibi", "relative", "none"
    ] = "sinusoidal"
    """Positional encoding: sinusoidal and interleaved as in the paper, sinusoidal and concatenated as in the
    authors' code, learned, rotary (Su et al. 2021), linear biases of the scores (alibi, Press et al. 2022),
    relative position vectors (relative, Shaw et al. 2018), or none."""
    max_positions: PositiveInt = 512
    """Number of learned positions (positions = "learned")."""
    tied: Literal["all", "decoder", "none"] = "all"
    """Weight tying (sec. 3.4): one matrix for both embeddings and the output layer (all), for the target
    embedding and the output layer (decoder), or for none."""
    output_bias: bool = False
    """Bias in the output layer (the paper: none; Marian: yes)."""
    first_input: Literal["begin", "zero"] = "begin"
    """First input of the decoder, before positions are added: the begin symbol's embedding as published, or
    zero (zero, as in Marian), whatever the symbol."""
    decoder_cell: Literal["attention", "ssru"] = "attention"
    """Causal sublayer of a decoder layer: self-attention as published (attention), or a simple recurrent unit
    whose steps cost the same at every length (ssru, Kim et al. 2019)."""
    norm_epsilon: float = Field(1e-5, gt=0)
    """Epsilon of layer norms, added to the variance (Marian: 1e-6)."""
    window: NonNegativeInt = 0
    """Restricted self-attention (sec. 4, Table 1): a position attends only to the r positions centred on it,
    r odd; 0: unrestricted. Time and memory grow with n r, not with n^2, with score = "scaled_dot"; with other
    scores the window is a mask and saves nothing."""
    initialisation: Literal["xavier", "xavier_normal", "lecun", "lecun_uniform", "kaiming", "normal"] = (
        "xavier"
    )
    """Initialisation of matrices: uniform or normal by Glorot and Bengio 2010 (xavier, xavier_normal), normal
    or uniform by LeCun et al. 1998 (lecun, lecun_uniform), normal by He et al. 2015 (kaiming), or
    N(0, 0.02^2)."""
    output_gain: float = Field(1.0, gt=0, le=1)
    """Factor of the initial matrices that end sublayers (W^O, W_2, an SSRU's W). With a small one, layers
    begin near the identity: deep post-norm stacks learn sooner (Liu et al. 2020; Wang et al. 2022)."""

    @property
    def head_width(self) -> int:
        """d_k, derived from d_model and num_heads unless it is set."""
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
            raise ValueError('positions = "rotary" rotates pairs, but the width of a head, d_k, is odd')
        if self.positions in ("alibi", "relative") and self.score != "scaled_dot":
            raise ValueError(f'positions = "{self.positions}" needs score = "scaled_dot", not "{self.score}"')
        if self.window and self.window % 2 == 0:
            raise ValueError(f"window {self.window} is even; it must be odd")
        if self.window and self.decoder_cell == "ssru":
            raise ValueError('window restricts self-attention, but decoder_cell = "ssru" has none')
        if not self.residual and self.norm != "post":
            raise ValueError(f'residual = false needs norm = "post", not "{self.norm}"')
        if self.attention_dropout and self.score in ("dot", "additive"):
            raise ValueError(f'attention_dropout needs score = "scaled_dot", not "{self.score}"')
        return self


class Transformer(nn.Module):
    """Maps source and target ids to logits of the next target token, by encoder and decoder (figure 1)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = self.settings = settings

        def attention(
            score: nn.Module | None = None, rotary: RotaryPositions | None = None
        ) -> MultiHeadAttention:
            return MultiHeadAttention(
                s.d_model,
                s.num_heads,
                num_kv_heads=s.num_kv_heads or None,
                d_k=s.d_k or None,
                d_v=s.d_v or None,
                score=score or _score(s),
                rotary=rotary,
            )

        def self_attention(causal: bool = False) -> MultiHeadAttention:
            rotary = RotaryPositions(s.head_width) if s.positions == "rotary" else None
            score = SCORES_BY_POSITION.get(s.positions, _score)(s)
            return attention(_with_window(score, s, causal) if s.window else score, rotary)

        def feed_forward() -> FeedForward:
            if s.activation in GATES:
                return GatedFeedForward(
                    s.d_model, s.d_ff, activation=s.activation, dropout=s.activation_dropout, bias=True
                )
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
            attention=lambda: SSRU(s.d_model) if s.decoder_cell == "ssru" else self_attention(causal=True),
            cross_attention=attention,
            feed_forward=feed_forward,
            residual=residual,
            dropout=s.dropout,
            layer=RecurrentDecoderLayer if s.decoder_cell == "ssru" else DecoderLayer,
        )
        set_epsilon(self, s.norm_epsilon)
        initialise(self, s.initialisation)
        shrink_outputs(self, s.output_gain)
        self.source_embedding, self.target_embedding, self.output = embeddings(s, s.d_model)
        self.output_bias = nn.Parameter(torch.zeros(s.target_vocab)) if s.output_bias else None
        self.source_positions, self.target_positions = _positions(s), _positions(s)
        self.dropout = Dropout(s.dropout)

    @property
    def limit(self) -> int | None:
        """Maximum length of a source or target sequence, its end symbol included; None: no limit."""
        s = self.settings
        return s.max_positions if s.positions == "learned" else None

    def forward(self, source_BS: Tensor, target_BT: Tensor, source_lengths_B: Tensor | None = None) -> Tensor:
        """Logits of the token after each target token, (B, T, V).

        Args:
            source_BS: source ids, padded on the right.
            target_BT: target ids beginning with the begin symbol, padded on the right. No position depends on
                later ones, so the padding needs no mask.
            source_lengths_B: the source's true lengths; None: no padding.
        """
        return self.output.logits(self.hidden(source_BS, target_BT, source_lengths_B), self.output_bias)

    def hidden(self, source_BS: Tensor, target_BT: Tensor, source_lengths_B: Tensor | None = None) -> Tensor:
        """The output layer's input, (B, T, d_model); arguments as of :meth:`forward`."""
        source_allowed = None
        if source_lengths_B is not None:
            source_allowed = masks.padding(source_lengths_B, source_BS.shape[1])
        memory_BSd = self.encode(source_BS, source_allowed)
        y_BTd = self.target_embedding(target_BT)
        if self.settings.first_input == "zero":
            y_BTd = F.pad(y_BTd[:, 1:], (0, 0, 1, 0))
        x_BTd = self.dropout(self.target_positions(y_BTd))
        # A window keeps causal order itself.
        allowed = None if self.settings.window else masks.causal(target_BT.shape[1], target_BT.device)
        hidden_BTd: Tensor = self.decoder(x_BTd, memory_BSd, allowed, source_allowed)
        return hidden_BTd

    def encode(self, source_BS: Tensor, allowed: Tensor | None) -> Tensor:
        """The encoder's output, (B, S, d_model)."""
        x_BSd = self.dropout(self.source_positions(self.source_embedding(source_BS)))
        memory_BSd: Tensor = self.encoder(x_BSd, allowed)
        return memory_BSd

    # --- training and scoring -------------------------------------------------------------------

    @property
    def capturable(self) -> bool:
        """True if the loss is a fixed sequence of kernels for each batch shape (``training.cuda_graphs``)."""
        # Without Triton, a window's dropout is drawn from a seed on the CPU, which a graph would repeat.
        return not self.settings.r_drop and not self.settings.window

    def loss(self, batch: PairBatch, step: int) -> Loss:
        """Smoothed cross-entropy per target token, or R-Drop; log-likelihood and accuracy as metrics."""
        s, weight, bias = self.settings, self.output.weight, self.output_bias

        def hidden() -> Tensor:
            return self.hidden(batch.source.ids_BS, batch.target_in, batch.source.lengths_B)

        if s.r_drop and self.training:
            both_BT2d = torch.stack([hidden(), hidden()], dim=2)
            return r_drop_loss(both_BT2d, weight, batch, s.label_smoothing, s.r_drop, bias)
        return next_token_loss(hidden(), weight, batch, s.label_smoothing, bias)

    def score(self, batch: PairBatch) -> Tensor:
        """Log-probability of each target token, (B, T - 1); 0 at padding."""
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
            first_input=self.settings.first_input,
        )

    # --- search ---------------------------------------------------------------------------------

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> DecoderState:
        """Read the source and all of each prefix but its last token (``search.Stepper``)."""
        source_allowed = masks.padding(source.lengths_B, source.ids_BS.shape[1])
        memory_BSd = self.encode(source.ids_BS, source_allowed)
        ids_BQ, shift_B = left_padded([prefix[:-1] for prefix in prefixes], source.ids_BS.device)
        r = self.settings.window
        caches = self.decoder.begin(memory_BSd, shift_B)
        state = DecoderState(caches, source_allowed, shift_B, reach=r // 2 if r else None, ordered=r > 0)
        if ids_BQ.shape[1]:
            self._advance(ids_BQ, state)
        return state

    def step(self, tokens_R: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Append a token to every hypothesis; return the next one's logits, (R, V) (``search.Stepper``)."""
        state = state.trim()
        hidden_R1d = self._advance(tokens_R[:, None], state)
        return self.output.logits(hidden_R1d[:, 0], self.output_bias), state

    def _advance(self, ids_RQ: Tensor, state: DecoderState) -> Tensor:
        shift_R, allowed = state.shift_and_mask(ids_RQ)
        y_RQd = self.target_embedding(ids_RQ)
        if self.settings.first_input == "zero":
            y_RQd = without_first(y_RQd, state.position, shift_R)
        x_RQd = self.target_positions(y_RQd, state.position, shift_R)
        return self.decoder.step(x_RQd, state.caches, allowed, state.source_allowed)


def _score(s: Settings) -> nn.Module:
    if s.score == "scaled_dot":
        return DotProductAttention(s.attention_dropout)
    if s.score == "query_key_norm":
        return QueryKeyNorm(dropout=s.attention_dropout)
    return DotScore() if s.score == "dot" else AdditiveScore(s.head_width)


def _with_window(score: nn.Module, s: Settings, causal: bool) -> nn.Module:
    reach = s.window // 2
    if s.score == "scaled_dot":
        return WindowAttention(reach, 0 if causal else reach, dropout=s.attention_dropout)
    return WindowedScore(score, reach, 0 if causal else reach)


def _positions(s: Settings) -> nn.Module:
    if s.positions == "learned":
        return LearnedPositions(s.max_positions, s.d_model)
    if s.positions in ("rotary", "none", *SCORES_BY_POSITION):
        return NoPositions()
    return SinusoidalPositions(s.d_model, interleaved=s.positions == "sinusoidal")


Model = Transformer
