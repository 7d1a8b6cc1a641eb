"""Recorded attention weights, and the alignments computed from them. Drawing them is left to ``inspect``."""

from multihead.attention_maps.alignment import Alignment, Choice, align
from multihead.attention_maps.calls import Kind
from multihead.attention_maps.record import AttentionRecord, record, record_cross, record_sequence
from multihead.attention_maps.rollout import rollout
from multihead.attention_maps.running_text import running_text
from multihead.attention_maps.self_alignment import align_self
from multihead.attention_maps.tokens import Sentence, Token, sentence

__all__ = [
    "Alignment",
    "AttentionRecord",
    "Choice",
    "Kind",
    "Sentence",
    "Token",
    "align",
    "align_self",
    "record",
    "record_cross",
    "record_sequence",
    "rollout",
    "running_text",
    "sentence",
]
