"""Small models and a batch of three pairs, for tests of recorded attention."""

from typing import Any

import torch
from gru import Gru

from multihead.batch import PairBatch
from multihead.data.batches import Shapes, collate
from multihead.models.transformer import Settings, Transformer

SOURCE_VOCAB, TARGET_VOCAB = 41, 43
SOURCES = [[5, 7, 11, 13, 17], [19, 23], [29, 31, 37]]
TARGETS = [[4, 6, 8, 10, 12, 14, 16], [18, 20, 22], [24]]


def a_batch(
    sources: list[list[int]] = SOURCES, targets: list[list[int]] = TARGETS, multiple: int = 1
) -> PairBatch:
    return collate(sources, targets, pad_id=0, bos_id=2, eos_id=3, shapes=Shapes(multiple))


def a_transformer(**changed: Any) -> Transformer:
    torch.manual_seed(1)
    given: dict[str, Any] = {"num_layers": 2, "decoder_layers": 3, "d_k": 5, "d_v": 7, "tied": "decoder"}
    sizes = {"source_vocab": SOURCE_VOCAB, "target_vocab": TARGET_VOCAB, "d_model": 30, "d_ff": 47}
    return Transformer(Settings(num_heads=3, **sizes, **given, **changed)).eval()


def a_gru() -> Gru:
    torch.manual_seed(1)
    return Gru(SOURCE_VOCAB, TARGET_VOCAB).eval()
