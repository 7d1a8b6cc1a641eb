"""Kinds of self-attention for BERT, GPT and ViT: settings, and the parts that a model passes to its stack."""

from collections.abc import Callable
from itertools import cycle
from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import nn

from multihead.nn import FeedForward, MultiHeadAttention
from multihead.nn.parts.bands import CausalAttention
from multihead.nn.parts.linear_attention import LinearAttention
from multihead.nn.parts.linformer import LinformerAttention, Projections, Sharing
from multihead.nn.parts.longformer import LongformerAttention
from multihead.nn.parts.reformer import ReformerAttention, buckets_for
from multihead.nn.parts.reversible import ChunkedFeedForward, ReversibleStack
from multihead.nn.parts.window import WindowAttention
from multihead.recipe import settings

Kind = Literal["full", "window", "alternating", "longformer", "linformer", "reformer", "linear"]
ENCODERS_ONLY = {
    "linformer": "each projected key is a mixture of the whole text, later tokens included, so it cannot be "
    'causal (Wang et al. 2020); use "window", "reformer" or "linear"',
    "longformer": "its global tokens attend to later ones; the paper's causal model has none (Beltagy et al. "
    '2020, sec. 4): use "window"',
}
"""Kinds that no causal model can have, and why."""


class AttentionSettings(settings.Settings):
    """Settings of self-attention."""

    attention: Kind = "full"
    """Self-attention: full as published; a sliding window; dense and windowed layers in turn, as in GPT-3
    (alternating); or that of the Longformer (Beltagy et al. 2020), Linformer (Wang et al. 2020), Reformer
    (Kitaev et al. 2020, with reversible layers), or linear attention (Katharopoulos et al. 2020). But with
    full and alternating, time and memory grow with the length of the text, not with its square."""
    window: PositiveInt = 257
    """Positions that a position attends to (attention = "window", "alternating" or "longformer"): those
    centred on it, an odd number; in a causal model the last ones, its own included."""
    dilation: PositiveInt = 1
    """Distance between neighbouring positions of a window (attention = "window", "alternating" or
    "longformer")."""
    global_tokens: int = Field(1, ge=0, le=65_536)
    """First positions of the text that attend to, and are attended to by, every position (attention =
    "longformer"); 1: [CLS]."""
    projected: PositiveInt = 256
    """Number of projected keys and values, k in the paper (attention = "linformer")."""
    sharing: Sharing = "key_value"
    """Projections that are shared (attention = "linformer", sec. 4): by heads (headwise), by keys and values
    too (key_value), or by all layers too (layerwise)."""
    hash_rounds: PositiveInt = 4
    """Rounds of hashing (attention = "reformer")."""
    chunk: PositiveInt = 64
    """Positions of a sorted chunk, twice the mean size of a bucket (attention = "reformer")."""
    ff_chunk: NonNegativeInt = 0
    """Positions that the feed-forward networks take at a time, to save memory (attention = "reformer"); 0:
    all."""


class CausalAttentionSettings(AttentionSettings):
    """Settings of self-attention in a causal model."""

    @model_validator(mode="after")
    def _can_be_causal(self) -> "CausalAttentionSettings":
        if reason := ENCODERS_ONLY.get(self.attention):
            raise ValueError(f'attention = "{self.attention}" is for encoders: {reason}')
        return self


class EncoderAttentionSettings(AttentionSettings):
    """Settings of self-attention in an encoder."""

    @model_validator(mode="after")
    def _has_a_centre(self) -> "EncoderAttentionSettings":
        if self.attention in WINDOWED and self.window % 2 == 0:
            raise ValueError(f"window {self.window} is even; it must be odd")
        return self


WINDOWED = ("window", "alternating", "longformer")


def self_attention(
    s: AttentionSettings,
    d_model: int,
    num_heads: int,
    *,
    d_k: int | None = None,
    dropout: float,
    length: int,
    causal: bool,
    score: Callable[[], nn.Module] | None = None,
) -> Callable[[], MultiHeadAttention]:
    """Return the factory of the layers' self-attention, called once a layer, in order.

    Args:
        s: the kind of attention.
        d_model: width of the residual stream.
        num_heads: number of heads.
        d_k: width of a head; None: d_model / num_heads.
        dropout: dropout of attention weights.
        length: the longest text.
        causal: whether a position attends only to itself and earlier ones.
        score: makes a layer's score of full attention; None: scaled dot product.
    """

    def heads(score: nn.Module | None = None) -> MultiHeadAttention:
        return MultiHeadAttention(d_model, num_heads, d_k=d_k, dropout=dropout, score=score)

    def full() -> MultiHeadAttention:
        return heads(score() if score else None)

    reach = s.window - 1 if causal else s.window // 2

    def window() -> MultiHeadAttention:
        return heads(WindowAttention(reach, 0 if causal else reach, dilation=s.dilation, dropout=dropout))

    def dense() -> MultiHeadAttention:
        return heads(CausalAttention(dropout)) if causal else heads()

    turns = cycle((dense, window))
    projections = Projections(s.sharing, length, s.projected) if s.attention == "linformer" else None

    def linformer() -> MultiHeadAttention:
        assert projections is not None
        return heads(LinformerAttention(*projections.of_layer(), dropout))

    def reformer() -> MultiHeadAttention:
        part: nn.Module = ReformerAttention(
            d_model,
            num_heads,
            d_k=d_k,
            buckets=buckets_for(length, s.chunk),
            rounds=s.hash_rounds,
            chunk=s.chunk,
            causal=causal,
            dropout=dropout,
        )
        return part  # type: ignore[return-value]  # it has the methods that a stack calls

    def longformer() -> MultiHeadAttention:
        return LongformerAttention(
            d_model,
            num_heads,
            reach=reach,
            global_tokens=s.global_tokens,
            dilation=s.dilation,
            dropout=dropout,
        )

    factories: dict[str, Callable[[], MultiHeadAttention]] = {
        "full": full,
        "window": window,
        "alternating": lambda: next(turns)(),
        "longformer": longformer,
        "linformer": linformer,
        "reformer": reformer,
        "linear": lambda: heads(LinearAttention(causal=causal)),
    }
    return factories[s.attention]


def feed_forward(
    s: AttentionSettings, d_model: int, d_ff: int, activation: str, dropout: float = 0.0
) -> Callable[[], FeedForward]:
    """Return the factory of the layers' feed-forward networks; arguments as of ``FeedForward``."""
    if s.attention == "reformer" and s.ff_chunk:
        return lambda: ChunkedFeedForward(
            d_model, d_ff, chunk=s.ff_chunk, activation=activation, dropout=dropout
        )
    return lambda: FeedForward(d_model, d_ff, activation=activation, dropout=dropout)


def is_reversible(s: AttentionSettings) -> bool:
    """Return whether the stack is a ``ReversibleStack``, whose layers are pre-norm."""
    return s.attention == "reformer"


__all__ = [
    "AttentionSettings",
    "CausalAttentionSettings",
    "EncoderAttentionSettings",
    "ReversibleStack",
    "feed_forward",
    "is_reversible",
    "self_attention",
]
