"""Recorded attention weights are those that the model used."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from gru import Gru
from numpy.typing import NDArray
from recorded import SOURCE_VOCAB, SOURCES, TARGET_VOCAB, TARGETS, a_batch, a_gru, a_transformer
from torch import Tensor, nn

from multihead.batch import PairBatch
from multihead.inspect.maps import AttentionRecord, record
from multihead.nn import DecoderLayer, DotProductAttention, MultiHeadAttention

Floats = NDArray[np.float32]


class StepwiseGru(Gru):
    """Attends once per target position, like a decoder with input feeding."""

    def _logits(self, hidden_BTd: Tensor, memory_BSd: Tensor, allowed: Tensor) -> Tensor:
        steps = [
            super(StepwiseGru, self)._logits(h, memory_BSd, allowed)
            for h in torch.split(hidden_BTd, 1, dim=1)
        ]
        return torch.cat(steps, dim=1)


def outputs_of(model: nn.Module, kind: type[nn.Module], run: Callable[[], object]) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}

    def remember(name: str) -> Any:
        return lambda module, args, output: found.__setitem__(name, output)

    hooks = [
        module.register_forward_hook(remember(name))
        for name, module in model.named_modules()
        if isinstance(module, kind)
    ]
    with torch.no_grad():
        run()
    for hook in hooks:
        hook.remove()
    return found


def inputs(one: AttentionRecord) -> tuple[Floats, Floats, Floats]:
    """Return q, k and v."""
    assert one.q_BHQd is not None
    assert one.k_BHKd is not None
    assert one.v_BHKd is not None
    return one.q_BHQd, one.k_BHKd, one.v_BHKd


def by_name(records: list[AttentionRecord]) -> dict[str, AttentionRecord]:
    return {one.module: one for one in records}


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_recorded_weights_times_values_equal_each_modules_output(norm: str, positions: str) -> None:
    model, batch = a_transformer(norm=norm, positions=positions), a_batch()
    outputs = outputs_of(model, MultiHeadAttention, lambda: model.score(batch))
    records = record(model, batch, keep_inputs=True)
    assert {one.module.removesuffix(".score") for one in records} == set(outputs)
    assert len(outputs) == 2 + 3 + 3
    for one in records:
        attention = model.get_submodule(one.module.removesuffix(".score"))
        assert isinstance(attention, MultiHeadAttention)
        heads_BHQd = torch.from_numpy(one.weights_BHQK @ inputs(one)[2])
        with torch.no_grad():
            mixed_BQd = attention.w_o(heads_BHQd.transpose(1, 2).flatten(2))
        expected = outputs[one.module.removesuffix(".score")]
        for b, queries in enumerate(one.query_lengths_B):
            torch.testing.assert_close(mixed_BQd[b, :queries], expected[b, :queries], atol=1e-5, rtol=1e-5)


def test_a_recurrent_models_recorded_weights_times_values_equal_its_context_vectors() -> None:
    model, batch = a_gru(), a_batch()
    (context_B1Td,) = outputs_of(model, DotProductAttention, lambda: model.score(batch)).values()
    (one,) = record(model, batch, keep_inputs=True)
    assert (one.kind, one.layer, one.num_heads) == ("cross", 1, 1)
    context = torch.from_numpy(one.weights_BHQK @ inputs(one)[2])
    for b, queries in enumerate(one.query_lengths_B):
        torch.testing.assert_close(
            context[b, :, :queries], context_B1Td[b, :, :queries], atol=1e-5, rtol=1e-5
        )


def test_kinds_and_layers_are_inferred_from_the_model() -> None:
    found = [(one.kind, one.layer, one.module) for one in record(a_transformer(), a_batch())]
    assert found == [
        ("encoder self", 1, "encoder.layers.0.self_attention.score"),
        ("encoder self", 2, "encoder.layers.1.self_attention.score"),
        ("decoder self", 1, "decoder.layers.0.self_attention.score"),
        ("cross", 1, "decoder.layers.0.cross_attention.score"),
        ("decoder self", 2, "decoder.layers.1.self_attention.score"),
        ("cross", 2, "decoder.layers.1.cross_attention.score"),
        ("decoder self", 3, "decoder.layers.2.self_attention.score"),
        ("cross", 3, "decoder.layers.2.cross_attention.score"),
    ]


@pytest.mark.parametrize(
    ("source", "target"), [(0, 0), (1, 1), (0, 1), (1, 0), (4, 4), (0, 4), (4, 0), (6, 3)]
)
def test_kinds_are_inferred_whatever_the_lengths(source: int, target: int) -> None:
    kinds = [one.kind for one in record(a_transformer(), a_batch([[5] * source], [[7] * target]))]
    assert kinds == ["encoder self"] * 2 + ["decoder self", "cross"] * 3


@pytest.mark.parametrize("multiple", [1, 8])
def test_records_are_trimmed_to_the_true_lengths(multiple: int) -> None:
    records = by_name(record(a_transformer(), a_batch(multiple=multiple), keep_inputs=True))
    encoder = records["encoder.layers.1.self_attention.score"]
    decoder = records["decoder.layers.1.self_attention.score"]
    cross = records["decoder.layers.1.cross_attention.score"]
    assert encoder.weights_BHQK.shape == (3, 3, 6, 6)
    assert decoder.weights_BHQK.shape == (3, 3, 8, 8)
    assert cross.weights_BHQK.shape == (3, 3, 8, 6)
    assert [x.shape for x in inputs(cross)] == [(3, 3, 8, 5), (3, 3, 6, 5), (3, 3, 6, 7)]
    assert [cross.sentence(b).shape for b in range(3)] == [(3, 8, 6), (3, 4, 3), (3, 2, 4)]
    for one in records.values():
        assert one.weights_BHQK.dtype == np.float32
        for b in range(3):
            np.testing.assert_allclose(one.sentence(b).sum(-1), 1, atol=1e-6)


def test_a_sentence_is_recorded_the_same_alone_and_in_a_batch() -> None:
    together = record(a_transformer(), a_batch(multiple=8))
    for b in range(3):
        alone = record(a_transformer(), a_batch(SOURCES[b : b + 1], TARGETS[b : b + 1]))
        for ours, theirs in zip(together, alone, strict=True):
            np.testing.assert_allclose(ours.sentence(b), theirs.sentence(0), atol=1e-6)


def test_masked_keys_are_recorded_and_have_no_weight() -> None:
    records = by_name(record(a_transformer(), a_batch()))
    decoder = records["decoder.layers.0.self_attention.score"]
    assert decoder.allowed_BHQK is not None
    causal = np.tril(np.ones((8, 8), dtype=bool))
    assert (decoder.allowed_BHQK == causal).all()
    assert (decoder.weights_BHQK[~decoder.allowed_BHQK] == 0).all()
    assert (decoder.weights_BHQK[decoder.allowed_BHQK] > 0).all()
    cross = records["decoder.layers.0.cross_attention.score"]
    assert cross.allowed_BHQK is not None
    assert cross.allowed_BHQK[1, 0, 0].tolist() == [True] * 3 + [False] * 3


def test_attention_called_once_per_query_gives_one_record() -> None:
    torch.manual_seed(1)
    stepwise = StepwiseGru(SOURCE_VOCAB, TARGET_VOCAB)
    (one,) = record(stepwise, a_batch(), keep_inputs=True)
    (whole,) = record(a_gru(), a_batch(), keep_inputs=True)
    np.testing.assert_allclose(one.weights_BHQK, whole.weights_BHQK, atol=1e-6)
    assert one.allowed_BHQK is not None
    assert whole.allowed_BHQK is not None
    np.testing.assert_array_equal(one.allowed_BHQK, whole.allowed_BHQK)
    for ours, theirs in zip(inputs(one), inputs(whole), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_a_module_shared_by_layers_gives_one_record_per_layer() -> None:
    model = a_transformer()
    shared = DotProductAttention()
    for layer in model.decoder.layers:
        assert isinstance(layer, DecoderLayer)
        layer.cross_attention.score = shared
    found = record(model, a_batch())
    cross = [(one.layer, one.module) for one in found if one.kind == "cross"]
    assert cross == [(n, "decoder.layers.0.cross_attention.score") for n in (1, 2, 3)]
    separate = [one for one in record(a_transformer(), a_batch()) if one.kind == "cross"]
    for ours, theirs in zip((one for one in found if one.kind == "cross"), separate, strict=True):
        np.testing.assert_array_equal(ours.weights_BHQK, theirs.weights_BHQK)


def test_a_module_may_declare_its_kind() -> None:
    class Named(DotProductAttention):
        kind = "decoder self"

    model = a_gru()
    model.attention = Named()
    (one,) = record(model, a_batch())
    assert one.kind == "decoder self"


def test_a_module_whose_shapes_match_no_kind_must_declare_it() -> None:
    class DoubledMemory(Gru):
        def _read(self, source: Any) -> tuple[Tensor, Tensor, Tensor]:
            memory, allowed, last = super()._read(source)
            return torch.cat([memory, memory], 1), torch.cat([allowed, allowed], 3), last

    with pytest.raises(ValueError, match="attention takes 8 queries and 12 keys"):
        record(DoubledMemory(SOURCE_VOCAB, TARGET_VOCAB), a_batch())


def test_a_model_without_attention_gives_no_records() -> None:
    class WithoutAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 3)

        def score(self, batch: PairBatch) -> Tensor:
            scored: Tensor = self.linear(torch.zeros(2))
            return scored

    assert record(WithoutAttention(), a_batch()) == []
