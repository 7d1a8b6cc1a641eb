"""Long-sequence attention in BERT, its classifier, GPT and ViT."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch.testing import assert_close

from multihead import recipe as recipes
from multihead.batch import Input, Source
from multihead.models import bert, bert_classifier, gpt, vit
from multihead.nn import MultiHeadAttention
from multihead.nn.parts.bands import CausalAttention
from multihead.nn.parts.linformer import LinformerAttention
from multihead.nn.parts.reversible import ChunkedFeedForward, ReversibleStack
from multihead.nn.parts.window import WindowAttention

V, N = 31, 43
SIZES: dict[str, Any] = {"vocab_size": V, "d_model": 12, "num_layers": 3, "num_heads": 3}
SMALL: dict[str, Any] = {"window": 7, "projected": 5, "hash_rounds": 2, "chunk": 8}
ENCODERS = ("full", "window", "alternating", "longformer", "linformer", "reformer", "linear")
DECODERS = ("full", "window", "alternating", "reformer", "linear")


def gpt_with(attention: str, **changed: Any) -> gpt.GPT:
    torch.manual_seed(5)
    given = {**SIZES, **SMALL, "context": N, "attention": attention, "dropout": 0.0, **changed}
    model = gpt.Model(gpt.Settings.model_validate(given)).eval()
    for weight in model.parameters():
        weight.data.mul_(3)
    return model


def bert_with(attention: str, **changed: Any) -> bert.BERT:
    torch.manual_seed(5)
    given = {**SIZES, **SMALL, "max_positions": N, "attention": attention, **changed}
    return bert.Model(bert.Settings.model_validate(given)).eval()


def texts(lengths: list[int]) -> Input:
    ids = torch.randint(1, V, (len(lengths), max(lengths)))
    return Input(ids, torch.zeros_like(ids), torch.tensor(lengths))


@pytest.mark.parametrize("attention", ENCODERS)
def test_a_text_is_read_alike_alone_and_beside_a_longer_one(attention: str) -> None:
    # A chunk as long as the text: how buckets fall into shorter chunks depends on the padding.
    model = bert_with(attention, chunk=N)
    with torch.no_grad():
        both = texts([N, 29])
        together = model.encoder(both)[1, :29]
        alone = model.encoder(Input(both.ids_BN[1:, :29], both.segments_BN[1:, :29], torch.tensor([29])))[0]
    assert_close(together, alone, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("attention", ENCODERS)
def test_every_layer_of_an_encoder_learns(attention: str) -> None:
    model = bert_with(attention).train()
    (model.encoder(texts([N, 29])) * torch.randn(12)).sum().backward()
    for name, weight in model.encoder.stack.named_parameters():
        if not name.endswith("bias"):  # a key's bias moves all scores alike
            assert weight.grad is not None, name
            assert bool(weight.grad.any()), name


@pytest.mark.parametrize("attention", ENCODERS)
def test_a_classifier_takes_every_kind_of_attention(attention: str) -> None:
    given = {**SIZES, **SMALL, "max_positions": N, "attention": attention, "classes": 3}
    model = bert_classifier.Model(bert_classifier.Settings.model_validate(given))
    assert model(texts([N, 29])).shape == (2, 3)
    assert set(model.depths().values()) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("attention", DECODERS)
@pytest.mark.parametrize("positions", ["learned", "none"])
def test_cached_steps_equal_the_whole(attention: str, positions: str) -> None:
    model = gpt_with(attention, positions=positions, chunk=N)
    ids = torch.randint(0, V, (2, 31))
    nothing = Source(torch.zeros(2, 0, dtype=torch.long), torch.zeros(2, dtype=torch.long))
    with torch.no_grad():
        whole = model(ids)
        state = model.start(nothing, [row[:5].tolist() for row in ids])
        for place in range(4, 31):
            logits, state = model.step(ids[:, place], state)
            assert_close(logits, whole[:, place], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("attention", DECODERS)
def test_prefixes_of_different_lengths_are_continued_like_each_alone(attention: str) -> None:
    model = gpt_with(attention, chunk=N)
    prefixes = [[3, 5, 7, 11, 13, 17, 19, 23, 29, 2, 3, 5], [7, 5, 3, 2]]
    nothing = Source(torch.zeros(2, 0, dtype=torch.long), torch.zeros(2, dtype=torch.long))
    one = Source(nothing.ids_BS[:1], nothing.lengths_B[:1])
    with torch.no_grad():
        state = model.start(nothing, prefixes)
        together, state = model.step(torch.tensor([prefix[-1] for prefix in prefixes]), state)
        for row, prefix in enumerate(prefixes):
            alone = model.start(one, [prefix])
            logits, _ = model.step(torch.tensor(prefix[-1:]), alone)
            assert_close(together[row], logits[0], atol=1e-4, rtol=1e-4)
        further, _ = model.step(torch.tensor([1]), state.keep(torch.tensor([1])))
        assert_close(further[0], model(torch.tensor([[*prefixes[1], 1]]))[0, -1], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("attention", DECODERS)
def test_a_causal_model_ignores_the_future(attention: str) -> None:
    model = gpt_with(attention, chunk=N)
    ids = torch.randint(0, V, (1, N))
    changed = ids.clone()
    changed[:, 37:] = (changed[:, 37:] + 1) % V
    with torch.no_grad():
        assert_close(model(ids)[:, :37], model(changed)[:, :37], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("attention", "reason"),
    [("linformer", "later tokens included, so it cannot be causal"), ("longformer", "attend to later ones")],
)
def test_what_cannot_be_causal_is_refused_with_the_reason(attention: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        gpt.Settings.model_validate({"attention": attention})


def test_an_encoder_refuses_a_window_without_a_centre() -> None:
    with pytest.raises(ValidationError, match="window 8 is even"):
        bert.Settings.model_validate({"attention": "window", "window": 8})
    assert gpt.Settings.model_validate({"attention": "window", "window": 8}).window == 8


def test_gpt_alternates_dense_and_banded_layers() -> None:
    model = gpt_with("alternating", num_layers=4)
    scores = [layer.self_attention.score for layer in model.stack.layers]  # type: ignore[union-attr]
    assert [type(score) for score in scores] == 2 * [CausalAttention, WindowAttention]
    ids = torch.randint(0, V, (1, N))
    dense, banded = gpt_with("full", num_layers=4), gpt_with("window", num_layers=4)
    with torch.no_grad():
        found = model(ids)
        assert_close(found[:, :7], dense(ids)[:, :7], atol=1e-4, rtol=1e-4)
        assert bool((found[:, 20:] - dense(ids)[:, 20:]).abs().max() > 1e-3)
        assert bool((found[:, 20:] - banded(ids)[:, 20:]).abs().max() > 1e-3)


def test_a_window_counts_its_own_position() -> None:
    model = gpt_with("window", num_layers=1, positions="none")
    ids = torch.randint(0, V, (1, N))
    changed = ids.clone()
    changed[:, 13] = (changed[:, 13] + 1) % V
    with torch.no_grad():
        differs = ((model(ids) - model(changed)).abs().amax(-1) > 1e-6)[0]
    assert differs.nonzero().flatten().tolist() == list(range(13, 20))


def test_a_model_without_positions_slides_its_window_past_the_context() -> None:
    model = gpt_with("window", positions="none")
    assert model.slides
    assert model(torch.randint(0, V, (1, N + 10))).shape == (1, N + 10, V)
    assert not gpt_with("linear", positions="none").slides


def test_the_reformer_is_reversible_and_chunks_its_feed_forward_networks() -> None:
    model = bert_with("reformer", ff_chunk=16)
    assert isinstance(model.encoder.stack, ReversibleStack)
    assert isinstance(model.encoder.stack.layers[0].feed_forward, ChunkedFeedForward)


def test_a_layerwise_linformer_has_one_projection() -> None:
    model = bert_with("linformer", sharing="layerwise")
    parts = [part for part in model.modules() if isinstance(part, LinformerAttention)]
    assert len(parts) == 3
    assert len({id(part.keys) for part in parts}) == 1
    assert sum("score" in name for name, _ in model.named_parameters()) == 1


@pytest.mark.parametrize("attention", ENCODERS)
def test_a_vision_transformer_has_every_kind_of_attention(attention: str) -> None:
    given = {
        "image_size": 10,
        "channels": 1,
        "classes": 3,
        "patch_size": 2,
        "d_ff": 19,
        "attention": attention,
    }
    given |= {"d_model": 12, "num_layers": 2, "num_heads": 3, **SMALL}
    model = vit.Model(vit.Settings.model_validate(given))
    model.classifier.weight.data.normal_()
    model(torch.rand(2, 1, 10, 10)).square().sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_stochastic_depth_cannot_be_reversed() -> None:
    with pytest.raises(ValidationError, match="stochastic_depth skips sublayers"):
        vit.Settings.model_validate({"attention": "reformer", "stochastic_depth": 0.1})


def test_full_attention_keeps_its_parts() -> None:
    layer = gpt_with("full").stack.layers[0].self_attention
    assert isinstance(layer, MultiHeadAttention)
    assert not hasattr(layer.score, "keeps_order")


@pytest.mark.parametrize("name", ["gpt3-small", "gpt3-175b"])
def test_gpt3s_recipes_alternate(name: str) -> None:
    settings: Any = recipes.load(name).model
    assert (settings.attention, settings.window, settings.context) == ("alternating", 256, 2048)
