"""A model that is changed after its first search is searched as changed."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from laying_out import walk
from small_transformer import BEGIN, VOCABULARY, attentions, model
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.batch import Source
from multihead.engines.choose import OWN_STEPS, LatestStepper
from multihead.models.transformer import Transformer
from multihead.nn import FeedForward
from multihead.recipe.settings import TokenizerSettings
from multihead.search.consistency import example
from multihead.tasks.translation.lines import Translator
from multihead.text.training import train

CPU = torch.device("cpu")


def without_a_layer(made: Transformer, patch: pytest.MonkeyPatch) -> None:
    made.encoder.layers = made.encoder.layers[:1]


def another_network(made: Transformer, patch: pytest.MonkeyPatch) -> None:
    made.encoder.layers[0].feed_forward = FeedForward(24, 53)


def a_hook(made: Transformer, patch: pytest.MonkeyPatch) -> None:
    attentions(made)[0].w_o.register_forward_hook(lambda module, given, out: 0 * out)


def another_class(made: Transformer, patch: pytest.MonkeyPatch) -> None:
    def forward(self: FeedForward, x: Tensor) -> Tensor:
        out: Tensor = self.w_2(self.w_1(x).relu() ** 2)
        return out

    made.encoder.layers[1].feed_forward.__class__ = type("Squared", (FeedForward,), {"forward": forward})


def a_class_edited_in_place(made: Transformer, patch: pytest.MonkeyPatch) -> None:
    plain = FeedForward.forward
    patch.setattr(FeedForward, "forward", lambda self, x: plain(self, x) + 0.2 * x)


def another_epsilon(made: Transformer, patch: pytest.MonkeyPatch) -> None:
    for part in made.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = 0.5


def fewer_heads(made: Transformer, patch: pytest.MonkeyPatch) -> None:
    for attention in attentions(made):
        attention.num_heads = attention.num_kv_heads = attention.num_heads // 2
        attention.d_k, attention.d_v = 2 * attention.d_k, 2 * attention.d_v


def walked(stepper: Any) -> Tensor:
    asked = Source(torch.arange(4, 14).view(2, 5), torch.tensor([5, 3]))
    with torch.inference_mode():
        return torch.cat(walk(stepper, asked, [[BEGIN], [BEGIN]], 4, VOCABULARY))


@pytest.mark.parametrize(
    "change",
    [
        without_a_layer,
        another_network,
        a_hook,
        another_class,
        a_class_edited_in_place,
        another_epsilon,
        fewer_heads,
    ],
)
def test_a_later_change_takes_effect(
    change: Callable[[Transformer, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = model()
    latest = LatestStepper(made, CPU, torch.float32)
    before = walked(latest.stepper())
    assert latest.choice().engine != OWN_STEPS
    change(made, monkeypatch)
    after = walked(latest.stepper())
    assert (after - before).abs().max() > 0.01
    assert_close(after, walked(made), rtol=1e-3, atol=1e-3)


def test_an_unchanged_model_is_laid_out_once() -> None:
    latest = LatestStepper(model(), CPU, torch.float32)
    first = latest.choice()
    walked(first.stepper)
    assert latest.choice() is first


def test_a_change_that_search_does_not_see_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    made = model()
    pairs = example(VOCABULARY, VOCABULARY, BEGIN, None)
    latest = LatestStepper(made, CPU, torch.float32, pairs)
    with caplog.at_level(logging.WARNING):
        latest.choice()
        assert not caplog.messages
        made.decoder.layers[0].register_forward_hook(lambda module, given, out: out.flip(-1))
        latest.choice()
        latest.choice()
    (message,) = caplog.messages
    assert message.startswith("Training and search compute different probabilities: the steps of search")
    assert latest.inconsistent


def test_scores_that_depend_on_the_batch_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    made = model()
    made.encoder.layers[0].register_forward_hook(lambda module, given, out: out - out.mean(0))
    vocabulary = train(["a b c d e"] * 3, TokenizerSettings(kind="words", vocab_size=VOCABULARY))
    translator = Translator([made], vocabulary, vocabulary, device=CPU, precision="fp32")
    with caplog.at_level(logging.WARNING):
        translator.score([("a b", "c")])
        translator.score([("a b", "c")])
    (message,) = caplog.messages
    assert message.startswith("A sentence alone and in a batch differs by")
