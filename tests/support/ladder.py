"""The translators that preceded the Transformer: small models in all variants."""

from typing import Any

import pytest
import torch

from multihead.batch import PairBatch
from multihead.data.batches import collate
from multihead.models._stepwise import Stepwise
from multihead.recipe import model_kinds

V = 17
SOURCES = [[5, 9, 4, 11, 7], [8, 6], [10, 4, 9, 6, 12, 5, 7, 11], [4]]
TARGETS = [[7, 5, 9], [12, 4, 8, 6, 10, 5, 11], [6], [9, 8, 7, 5]]

SIZES: dict[str, dict[str, object]] = {
    "seq2seq": {"d_embedding": 11, "d_hidden": 13, "num_layers": 2},
    "rnn_attention": {"d_embedding": 11, "d_hidden": 14, "num_layers": 2},
    "gnmt": {"d_embedding": 11, "d_hidden": 13, "num_layers": 4, "dropout": 0.0},
    "conv_s2s": {"d_embedding": 11, "d_hidden": 13, "num_layers": 3},
}

VARIANTS: dict[str, tuple[str, dict[str, object]]] = {
    "seq2seq": ("seq2seq", {}),
    "seq2seq-gru-tied": ("seq2seq", {"cell": "gru", "tied": "all", "reverse_source": False}),
    "seq2seq-one-layer": ("seq2seq", {"num_layers": 1, "tied": "decoder"}),
    "seq2seq-vanilla": ("seq2seq", {"cell": "rnn"}),
    "additive": ("rnn_attention", {"d_alignment": 7}),
    "dot-lstm-fed": ("rnn_attention", {"score": "dot", "cell": "lstm", "input_feeding": True}),
    "general-tied": ("rnn_attention", {"score": "general", "num_layers": 1, "tied": "all"}),
    "concat-lstm": ("rnn_attention", {"score": "concat", "cell": "lstm", "d_encoder": 5}),
    "additive-vanilla": ("rnn_attention", {"cell": "rnn"}),
    "gnmt": ("gnmt", {"d_alignment": 7}),
    "gnmt-gru-tied": ("gnmt", {"cell": "gru", "tied": "all", "num_layers": 2}),
    "conv": ("conv_s2s", {}),
    "conv-plain": ("conv_s2s", {"weight_norm": False, "kernel_size": 5, "decoder_layers": 2, "tied": "all"}),
    "conv-narrow": ("conv_s2s", {"kernel_size": 1, "num_layers": 1, "tied": "decoder"}),
}
EVERY = pytest.mark.parametrize("name", VARIANTS)


def model_of(name: str, *, seed: int = 1, **changed: object) -> Any:
    """Return a variant in evaluation mode, the same at every call."""
    kind, variant = VARIANTS[name]
    module = model_kinds.load(kind)
    given = {"source_vocab": V, "target_vocab": V} | SIZES[kind] | variant | changed
    torch.manual_seed(seed)
    model = module.Model(module.Settings.model_validate(given))
    assert isinstance(model, Stepwise)
    return model.eval()


def pairs(sources: list[list[int]] = SOURCES, targets: list[list[int]] = TARGETS) -> PairBatch:
    """Return pairs as a batch with begin symbol 2 and end symbol 3."""
    return collate(sources, targets, pad_id=0, bos_id=2, eos_id=3)
