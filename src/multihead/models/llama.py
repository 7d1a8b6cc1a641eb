"""Llama, a language model of modern parts (Touvron et al. 2023); Mistral has its shape (Jiang et al. 2023).

RMS norm before each sublayer, a gated feed-forward network, rotary positions and grouped queries, without
biases. Each part can be exchanged for the older one, to measure what it brings.
"""

from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator
from torch import nn

from multihead.models._checks import check_heads
from multihead.models.gpt import GPT, STD
from multihead.nn import (
    DotProductAttention,
    FeedForward,
    LearnedPositions,
    MultiHeadAttention,
    PreNorm,
    TokenEmbedding,
)
from multihead.nn.initialisation import initialise
from multihead.nn.modules import Dropout, set_epsilon
from multihead.nn.parts.causal import CausalStack
from multihead.nn.parts.gated_feed_forward import GATES, GatedFeedForward
from multihead.nn.parts.relative_scores import LinearBiases, QueryKeyNorm, RelativePositions
from multihead.nn.parts.rotary import HalfRotaryPositions
from multihead.nn.positions import NoPositions
from multihead.nn.residual import PreRMSNorm
from multihead.recipe import settings

TASK = "language"


class Settings(settings.Settings):
    """Settings of a Llama; the defaults are Llama 7B."""

    vocab_size: PositiveInt = 32_000
    """Size of the vocabulary; set by the tokenizer."""
    context: PositiveInt = 2048
    """Context length in tokens; a longer text slides, each token attending to the last ``context``."""
    d_model: PositiveInt = 4096
    """Width of embeddings and of the residual stream."""
    num_layers: PositiveInt = 32
    """Number of layers."""
    num_heads: PositiveInt = 32
    """Number of attention heads."""
    num_kv_heads: NonNegativeInt = 0
    """Number of key/value heads, a divisor of num_heads (Ainslie et al. 2023); 0: num_heads."""
    d_k: NonNegativeInt = 0
    """Width of a head, even; 0: d_model / num_heads."""
    d_ff: PositiveInt = 11_008
    """Inner width of the feed-forward networks."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout of every sublayer's output and of embeddings."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout of attention weights."""
    norm: Literal["rms", "layer"] = "rms"
    """Norm before each sublayer: root mean square (Zhang and Sennrich 2019), or layer norm."""
    activation: Literal["swiglu", "geglu", "silu", "gelu", "relu"] = "swiglu"
    """Feed-forward networks: gated, swiglu or geglu (Shazeer 2020), or plain with this activation."""
    positions: Literal["rotary", "alibi", "relative", "learned", "none"] = "rotary"
    """Rotary positions (Su et al. 2021), linear biases (alibi, Press et al. 2022), relative position vectors
    (relative, Shaw et al. 2018), learned positions, or none."""
    query_key_norm: bool = False
    """Scores are scaled cosines (Henry et al. 2020); needs rotary, learned or no positions."""
    rotary_base: PositiveFloat = 10_000.0
    """Base of the rotary frequencies."""
    norm_epsilon: PositiveFloat = 1e-6
    """Epsilon of the norms."""
    bias: bool = False
    """Biases in all matrices."""
    tied: bool = False
    """One matrix for embeddings and output layer."""

    @property
    def head_width(self) -> int:
        """d_k, derived from d_model and num_heads unless it is set."""
        return self.d_k or self.d_model // self.num_heads

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        check_heads(self.d_model, self.num_heads, self.d_k, self.num_kv_heads)
        if self.positions == "rotary" and self.head_width % 2:
            raise ValueError('positions = "rotary" rotates pairs, but the width of a head, d_k, is odd')
        if self.query_key_norm and self.positions in ("alibi", "relative"):
            raise ValueError(f'query_key_norm excludes positions = "{self.positions}", another score')
        return self


class Llama(GPT):
    """Maps token ids to logits of the next token; training and search are GPT's."""

    settings: Settings  # type: ignore[assignment]

    def __init__(self, settings: Settings) -> None:
        # Not GPT's own: every part is another one.
        nn.Module.__init__(self)
        s = settings
        self.settings = s
        self.stack = CausalStack(
            s.num_layers,
            s.d_model,
            attention=lambda: MultiHeadAttention(
                s.d_model,
                s.num_heads,
                num_kv_heads=s.num_kv_heads or None,
                d_k=s.d_k or None,
                score=_score(s),
                rotary=HalfRotaryPositions(s.head_width, s.rotary_base) if s.positions == "rotary" else None,
                bias=s.bias,
            ),
            feed_forward=self.network,
            residual=PreRMSNorm if s.norm == "rms" else PreNorm,
            dropout=s.dropout,
        )
        set_epsilon(self, s.norm_epsilon)
        initialise(self, "normal")
        self.embedding = _embedding(s)
        self.head = None if s.tied else _embedding(s)
        learned = s.positions == "learned"
        self.positions = LearnedPositions(s.context, s.d_model) if learned else NoPositions()
        self.dropout = Dropout(s.dropout)

    def network(self) -> nn.Module:
        """The feed-forward network of a layer."""
        s = self.settings
        kind = GatedFeedForward if s.activation in GATES else FeedForward
        return kind(s.d_model, s.d_ff, activation=s.activation, bias=s.bias)

    @property
    def output(self) -> TokenEmbedding:
        """The output layer."""
        return self.embedding if self.head is None else self.head

    @property
    def capturable(self) -> bool:
        """True: the loss is a fixed sequence of kernels for each batch shape (``training.cuda_graphs``)."""
        return True

    @property
    def _keeps_order(self) -> bool:
        return False

    @property
    def _reach(self) -> int | None:
        return self.context - 1 if self.slides else None

    @property
    def slides(self) -> bool:
        """True if a text may exceed the context: each token then attends to the last ``context`` tokens."""
        return self.settings.positions != "learned"


def _embedding(s: Settings) -> TokenEmbedding:
    embedding = TokenEmbedding(s.vocab_size, s.d_model, size=s.d_model**-0.5)
    nn.init.normal_(embedding.weight, std=STD)
    return embedding


def _score(s: Settings) -> nn.Module:
    if s.positions == "alibi":
        return LinearBiases(s.num_heads, s.attention_dropout)
    if s.positions == "relative":
        return RelativePositions(s.head_width, dropout=s.attention_dropout)
    return (QueryKeyNorm if s.query_key_norm else DotProductAttention)(dropout=s.attention_dropout)


Model = Llama
