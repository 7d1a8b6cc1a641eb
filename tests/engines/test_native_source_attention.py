"""Attention over the source without PyTorch, against the weights that the model itself records."""

import numpy as np
import pytest
import torch
from laying_out import noisy_transformer

from multihead.data.batches import collate
from multihead.description import EncoderDecoderSpec
from multihead.engines.native.model import NativeModel
from multihead.engines.native.source_attention import SourceAttention
from multihead.engines.native.tensors import in_arrays
from multihead.inspect.maps import record
from multihead.models.transformer import Transformer
from multihead.nn.description import describe
from multihead.system import native
from multihead.tasks.translation.lines.native_translator import records

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the native part was not compiled")

PAD, BEGIN, END = 0, 2, 3
SOURCES = [[5, 17, 4, 30, 11, 7, 23], [9], [4, 4, 8, 29, 13]]
TARGETS = [[6, 11, 5], [7, 7, 9, 10, 19, 21, 30], []]
VARIANTS: dict[str, dict[str, object]] = {
    "as published": {},
    "pre-norm": {"norm": "pre"},
    "learned positions": {"positions": "learned", "max_positions": 11},
    "no positions": {"positions": "none"},
    "a zero first input": {"first_input": "zero", "tied": "all", "output_bias": True},
    "shared keys": {"num_heads": 4, "d_model": 24, "num_kv_heads": 2},
    "a window": {"window": 5},
    "a recurrent decoder": {"decoder_cell": "ssru", "norm": "pre"},
}


def made(**settings: object) -> tuple[Transformer, SourceAttention]:
    torch.manual_seed(11)
    model = noisy_transformer(0.3, num_layers=3, **settings)
    spec = in_arrays(describe(model, EncoderDecoderSpec))
    assert isinstance(spec, EncoderDecoderSpec)
    return model, SourceAttention(spec, NativeModel(spec, "float32"))


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_are_those_that_the_model_records(variant: str) -> None:
    model, attention = made(**VARIANTS[variant])
    batch = collate(SOURCES, TARGETS, pad_id=PAD, bos_id=BEGIN, eos_id=END)
    expected = [one for one in record(model, batch) if one.kind == "cross"]
    inputs = [[BEGIN, *ids] for ids in TARGETS]
    weights = attention(batch.source.ids_BS.numpy(), batch.source.lengths_B.numpy(), inputs)
    found = records(weights)
    assert [one.layer for one in found] == [one.layer for one in expected] == [1, 2, 3]
    for one, other in zip(found, expected, strict=True):
        assert one.kind == "cross"
        for index in range(3):
            np.testing.assert_allclose(one.sentence(index), other.sentence(index), atol=2e-5)
            np.testing.assert_allclose(one.sentence(index).sum(-1), 1, rtol=1e-5)
    assert inputs[1][0] == BEGIN  # nothing given is changed


def test_an_output_beyond_the_learned_positions_is_refused() -> None:
    _, attention = made(positions="learned", max_positions=7)
    with pytest.raises(ValueError, match="position 8 is beyond the 7 learned positions"):
        attention(np.array([[5, END]]), np.array([2]), [[BEGIN] + [9] * 7])
