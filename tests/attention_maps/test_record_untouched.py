"""Recording runs in fp32 and leaves the model unchanged."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from gru import Gru
from numpy.typing import NDArray
from recorded import SOURCE_VOCAB, TARGET_VOCAB, a_batch, a_transformer
from torch import Tensor, nn

from multihead.batch import PairBatch
from multihead.inspect.maps import record
from multihead.models.transformer import Transformer
from multihead.nn import DotProductAttention, FeedForward

Floats = NDArray[np.float32]


def hooks_left(model: nn.Module) -> int:
    return sum(len(module._forward_pre_hooks) + len(module._forward_hooks) for module in model.modules())


def test_recording_leaves_the_model_unchanged() -> None:
    model = a_transformer(dropout=0.3)
    model.train()
    model.encoder.layers[1].eval()
    modes = [module.training for module in model.modules()]
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    without_dropout = record(model, a_batch())
    assert hooks_left(model) == 0
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())
    assert all(weight.grad is None for weight in model.parameters())
    for ours, theirs in zip(without_dropout, record(model.eval(), a_batch()), strict=True):
        np.testing.assert_array_equal(ours.weights_BHQK, theirs.weights_BHQK)


def test_no_hook_remains_when_the_model_fails() -> None:
    class Failing(Gru):
        def score(self, batch: PairBatch) -> Tensor:
            super().score(batch)
            raise RuntimeError("in the middle")

    model = Failing(SOURCE_VOCAB, TARGET_VOCAB).train()
    with pytest.raises(RuntimeError, match="in the middle"):
        record(model, a_batch())
    assert hooks_left(model) == 0
    assert model.training


def test_recording_leaves_the_batch_unchanged() -> None:
    batch = a_batch([[5, 7]], [[11, 13]])
    record(a_transformer(), batch)
    assert batch.source.ids_BS.tolist() == [[5, 7, 3]]
    assert batch.target_BT.tolist() == [[2, 11, 13, 3]]


def test_recording_is_in_fp32_whatever_the_models_precision() -> None:
    model = a_transformer()
    expected = record(model, a_batch())
    with torch.autocast("cpu", torch.bfloat16):
        within_autocast = record(model, a_batch())
    halved = model.bfloat16()
    for ours, theirs in zip(within_autocast, expected, strict=True):
        np.testing.assert_array_equal(ours.weights_BHQK, theirs.weights_BHQK)
    of_halved = record(halved, a_batch())
    assert {weight.dtype for weight in halved.parameters()} == {torch.bfloat16}
    for ours, theirs in zip(of_halved, record(halved.float(), a_batch()), strict=True):
        np.testing.assert_array_equal(ours.weights_BHQK, theirs.weights_BHQK)


def casting_network(model: Transformer) -> None:
    for part in [part for part in model.modules() if isinstance(part, FeedForward)]:
        part.bfloat16().register_forward_pre_hook(lambda module, given: (given[0].bfloat16(),))
        part.register_forward_hook(lambda module, given, out: out.float())


def casting_model(model: Transformer) -> None:
    model.bfloat16().encoder.layers[0].register_forward_hook(lambda module, given, out: out.bfloat16())


class Casting(FeedForward):
    """Casts by itself, as a low-rank update in bf16 does."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.bfloat16()).float()


def network_of_two_formats(model: Transformer) -> None:
    for part in [part for part in model.modules() if type(part) is FeedForward]:
        part.bfloat16().__class__ = Casting


def hook_for_autocast(model: Transformer) -> None:
    """Networks that return bf16, which the next layer takes under autocast alone."""
    for part in [part for part in model.modules() if isinstance(part, FeedForward)]:
        part.w_1.register_forward_hook(lambda module, given, out: out.bfloat16())


@pytest.mark.parametrize(
    "change", [casting_network, casting_model, network_of_two_formats, hook_for_autocast]
)
def test_a_model_that_casts_by_hooks_of_its_own_is_recorded(change: Callable[[Transformer], None]) -> None:
    model = a_transformer()
    expected = record(model, a_batch())
    change(model)
    for ours, theirs in zip(record(model, a_batch()), expected, strict=True):
        np.testing.assert_allclose(ours.weights_BHQK, theirs.weights_BHQK, atol=0.05)


def test_weights_of_a_bf16_run_deviate_by_less_than_two_hundredths() -> None:
    """A bf16 model is shown with its fp32 attention weights; they must be close to those it used."""
    model, batch = a_transformer(), a_batch()
    used: dict[str, Floats] = {}

    def remember(name: str) -> Any:
        def hook(module: Any, args: tuple[Any, ...]) -> None:
            used[name] = module.weights(args[0], args[1], args[3]).float().numpy()

        return hook

    for name, module in model.named_modules():
        if isinstance(module, DotProductAttention):
            module.register_forward_pre_hook(remember(name))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        model.score(batch)
    for module in model.modules():
        module._forward_pre_hooks.clear()
    deviations = [
        np.abs(
            one.weights_BHQK
            - used[one.module][:, :, : one.weights_BHQK.shape[2], : one.weights_BHQK.shape[3]]
        )
        for one in record(model, batch)
    ]
    largest = max(float(d.max()) for d in deviations)
    assert 0 < largest < 0.02


def test_a_compiled_model_is_recorded_eagerly() -> None:
    model = a_transformer()
    expected = record(model, a_batch())
    calls = []

    def backend(graph: Any, inputs: Any) -> Any:
        calls.append(graph)
        return graph.forward

    model.compile(backend=backend)
    found = record(model, a_batch())
    assert calls == []
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.weights_BHQK, theirs.weights_BHQK)
