"""Recorded attention weights, and the alignments computed from them.

The functions that run a model need PyTorch, and are imported on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

from multihead.inspect.maps.alignment import Alignment, AlignmentHead, align
from multihead.inspect.maps.records import AttentionRecord, Kind
from multihead.inspect.maps.rollout import rollout
from multihead.inspect.maps.running_text import running_text
from multihead.inspect.maps.self_alignment import align_self
from multihead.inspect.maps.tokens import Sentence, TokenLabel, sentence

if TYPE_CHECKING:
    from multihead.inspect.maps.recording import record, record_cross, record_sequence

__all__ = [
    "Alignment",
    "AlignmentHead",
    "AttentionRecord",
    "Kind",
    "Sentence",
    "TokenLabel",
    "align",
    "align_self",
    "record",
    "record_cross",
    "record_sequence",
    "rollout",
    "running_text",
    "sentence",
]


def __getattr__(name: str) -> Any:
    if name not in ("record", "record_cross", "record_sequence"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.recording"), name)
