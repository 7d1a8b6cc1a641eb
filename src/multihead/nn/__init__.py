"""The building blocks of attention models, each usable alone: tensors in, tensors out.

Suffixes name shapes (legend in ``multihead.batch``). Masks have one polarity: True = may attend.
"""

from multihead.nn.attention import DotProductAttention, attention
from multihead.nn.embeddings import TokenEmbedding
from multihead.nn.feed_forward import FeedForward
from multihead.nn.layers import DecoderLayer, EncoderLayer, TransformerDecoder, TransformerEncoder
from multihead.nn.losses import Loss, LossTerm
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.positions import LearnedPositions, SinusoidalPositions
from multihead.nn.residual import PostNorm, PreNorm

__all__ = [
    "DecoderLayer",
    "DotProductAttention",
    "EncoderLayer",
    "FeedForward",
    "LearnedPositions",
    "Loss",
    "LossTerm",
    "MultiHeadAttention",
    "PostNorm",
    "PreNorm",
    "SinusoidalPositions",
    "TokenEmbedding",
    "TransformerDecoder",
    "TransformerEncoder",
    "attention",
]
