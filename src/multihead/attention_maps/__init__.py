"""What a model attends to: recorded weights, and the alignments made from them. No pictures here."""

from multihead.attention_maps.alignment import Alignment, Choice, align
from multihead.attention_maps.calls import Kind
from multihead.attention_maps.record import AttentionRecord, record
from multihead.attention_maps.tokens import Sentence, Token, sentence

__all__ = [
    "Alignment",
    "AttentionRecord",
    "Choice",
    "Kind",
    "Sentence",
    "Token",
    "align",
    "record",
    "sentence",
]
