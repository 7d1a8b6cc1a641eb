"""What a model attends to: recorded weights, and the alignments made from them. No pictures here."""

from multihead.attention_maps.alignment import Alignment, Choice, align
from multihead.attention_maps.calls import Kind
from multihead.attention_maps.record import AttentionRecord, record
from multihead.attention_maps.tokens import Sentence, Token, sentence
from multihead.attention_maps.unknown import replace_unknown, words_for_unknown

__all__ = [
    "Alignment",
    "AttentionRecord",
    "Choice",
    "Kind",
    "Sentence",
    "Token",
    "align",
    "record",
    "replace_unknown",
    "sentence",
    "words_for_unknown",
]
