"""Recorded weights of models with a single sequence are those used, whichever kernel computed them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from multihead.batch import Input
from multihead.inspect.maps import AttentionRecord, record_sequence
from multihead.models import bert, bert_classifier, dalle, gpt, vit
from multihead.nn import MultiHeadAttention

WIDTHS = {"d_model": 12, "num_layers": 2, "num_heads": 3}
PADDED = Input(
    torch.tensor([[2, 7, 9, 5, 3, 0, 0, 0]]), torch.zeros(1, 8, dtype=torch.long), torch.tensor([5])
)


def a_gpt(**changed: Any) -> tuple[nn.Module, Callable[[Any], object], int]:
    model = gpt.Model(gpt.Settings.model_validate({"vocab_size": 41, "context": 17, **WIDTHS, **changed}))
    ids = torch.tensor([[3, 5, 7, 11, 13, 17, 19]])
    return model, lambda read: read(ids), 7


def a_bert() -> tuple[nn.Module, Callable[[Any], object], int]:
    model = bert.Model(bert.Settings(vocab_size=41, max_positions=11, **WIDTHS))
    return model, lambda read: read(PADDED), 5


def a_classifier() -> tuple[nn.Module, Callable[[Any], object], int]:
    model = bert_classifier.Model(bert_classifier.Settings(vocab_size=41, max_positions=11, **WIDTHS))
    return model, lambda read: read(PADDED), 5


def a_vit(pooling: str = "class") -> tuple[nn.Module, Callable[[Any], object], int]:
    given = {"image_size": 6, "channels": 1, "classes": 5, "patch_size": 2, "d_ff": 23, "pooling": pooling}
    model = vit.Model(vit.Settings.model_validate({**given, **WIDTHS}))
    pixels = torch.rand(1, 1, 6, 6)
    return model, lambda read: read(pixels), 9 + (pooling == "class")


def an_image_generator(attention: str) -> tuple[nn.Module, Callable[[Any], object], int]:
    sizes = {"vocab_size": 31, "text_length": 5, "image_size": 28, "dvae_halvings": 2, "codes": 11}
    settings = {**sizes, **WIDTHS, "num_layers": 3, "kernel": 3, "ranker_width": 6, "attention": attention}
    model = dalle.Model(dalle.Settings.model_validate(settings))
    text, codes = torch.tensor([[7, 9, 8]]), torch.randint(0, 11, (1, 49))
    return model.decoder, lambda read: read(text, torch.tensor([3]), codes), 1 + 5 + 48


MODELS: dict[str, Callable[[], tuple[nn.Module, Callable[[Any], object], int]]] = {
    "gpt": a_gpt,
    "gpt without positions, past its context": lambda: a_gpt(positions="none", context=5),
    "bert": a_bert,
    "classifier": a_classifier,
    "vit with a class token": a_vit,
    "vit with a mean": lambda: a_vit("mean"),
    "dalle, sparse": lambda: an_image_generator("sparse"),
    "dalle, full": lambda: an_image_generator("full"),
}


def recorded(name: str) -> tuple[nn.Module, Callable[[Any], object], int, list[AttentionRecord]]:
    torch.manual_seed(5)
    model, run, length = MODELS[name]()
    return model.eval(), run, length, record_sequence(model, run, length, keep_inputs=True)


@pytest.mark.parametrize("name", MODELS)
def test_recorded_weights_times_values_equal_the_fast_paths_output(name: str) -> None:
    model, run, length, records = recorded(name)
    outputs: dict[str, torch.Tensor] = {}
    hooks = [
        module.register_forward_hook(lambda m, given, out, path=path: outputs.__setitem__(path, out))
        for path, module in model.named_modules()
        if callable(getattr(module, "weights", None)) and not isinstance(module, MultiHeadAttention)
    ]
    with torch.no_grad():
        run(model)
    for hook in hooks:
        hook.remove()
    assert {one.module for one in records} == set(outputs)
    assert [one.layer for one in records] == list(range(1, len(records) + 1))
    for one in records:
        assert (one.kind, one.weights_BHQK.shape) == ("self", (1, 3, length, length))
        assert one.v_BHKd is not None
        product = torch.from_numpy(one.weights_BHQK @ one.v_BHKd)
        torch.testing.assert_close(product, outputs[one.module][:, :, :length], atol=1e-4, rtol=1e-4)
        np.testing.assert_allclose(one.sentence(0).sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_masked_keys_have_no_weight(name: str) -> None:
    _, _, length, records = recorded(name)
    everywhere = np.ones((length, length), dtype=np.bool_)
    causal = np.tri(length, dtype=np.bool_)
    for one in records:
        allowed = everywhere if one.allowed_BHQK is None else one.allowed_BHQK[0, 0]
        assert (one.sentence(0)[:, ~allowed] == 0).all()
        if name in ("gpt", "dalle, full"):
            np.testing.assert_array_equal(allowed, causal)
        elif name in ("bert", "classifier") or name.startswith("vit"):
            np.testing.assert_array_equal(allowed, everywhere)
        elif name == "gpt without positions, past its context":
            assert allowed.sum() == sum(min(row + 1, 5) for row in range(length))
        else:
            assert (allowed <= causal).all()
            assert allowed.sum() < causal.sum()


def test_a_single_token_can_be_recorded() -> None:
    torch.manual_seed(5)
    model, _, _ = a_gpt()
    records = record_sequence(model, lambda read: read(torch.tensor([[7]])), 1)
    assert [one.sentence(0).tolist() for one in records] == [[[[1.0]]] * 3] * 2
