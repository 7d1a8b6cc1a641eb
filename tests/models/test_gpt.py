"""GPT against Hugging Face's GPT-2 with copied weights, cached against whole, and its published sizes."""

import math
from typing import Any

import pytest
import torch
from hugging_face import as_ours
from torch.testing import assert_close
from transformers import GPT2Config, GPT2LMHeadModel

from multihead import recipe as recipes
from multihead.apps.huggingface.foreign import gpt2
from multihead.batch import Source, TextBatch
from multihead.models.gpt import GPT, Settings
from multihead.nn import masks

V, CONTEXT, D, H, LAYERS = 37, 13, 22, 2, 3


def small(positions: str = "learned") -> GPT:
    settings = Settings.model_validate(
        {
            "vocab_size": V,
            "context": CONTEXT,
            "d_model": D,
            "num_heads": H,
            "num_layers": LAYERS,
            "d_ff": 29,
            "positions": positions,
        }
    )
    model = GPT(settings).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def nothing(rows: int) -> Source:
    return Source(torch.zeros(rows, 0, dtype=torch.long), torch.zeros(rows, dtype=torch.long))


@torch.no_grad()
def test_the_logits_equal_hugging_faces() -> None:
    config = GPT2Config(
        vocab_size=V, n_positions=CONTEXT, n_embd=D, n_layer=LAYERS, n_head=H, n_inner=31, use_cache=False
    )
    theirs: Any = GPT2LMHeadModel(config)
    theirs.eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    settings, weights = as_ours(gpt2, theirs.transformer)
    ours = GPT(Settings(**settings)).eval()
    ours.load_state_dict(weights)
    ids = torch.randint(0, V, (5, CONTEXT))
    expected = theirs(ids).logits
    assert expected.std() > 0.3
    assert_close(ours(ids), expected, atol=1e-4, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("positions", ["learned", "none"])
def test_cached_steps_equal_the_whole_forward(positions: str) -> None:
    model = small(positions)
    texts = [[3, 5, 7, 11, 2], [17, 13], [29, 4, 6]]
    state = model.start(nothing(3), texts)
    last = torch.tensor([text[-1] for text in texts])
    for _ in range(4):
        logits, state = model.step(last, state)
        for row, text in enumerate(texts):
            assert_close(logits[row], model(torch.tensor([text]))[0, -1], atol=1e-4, rtol=1e-5)
        last = logits.argmax(1)
        texts = [[*text, int(token)] for text, token in zip(texts, last, strict=True)]


@torch.no_grad()
def test_without_positions_the_cache_slides_and_equals_a_causal_window() -> None:
    model = small("none")
    ids = torch.randint(0, V, (1, 5 * CONTEXT))
    state = model.start(nothing(1), [ids[0, :2].tolist()])
    stepped = []
    for place in range(1, ids.shape[1]):
        logits, state = model.step(ids[:, place], state)
        stepped.append(logits)
        assert state.length <= 2 * CONTEXT
    found = torch.stack(stepped, dim=1)
    places = torch.arange(ids.shape[1])
    distance = places[:, None] - places
    allowed = ((distance >= 0) & (distance < CONTEXT))[None, None]
    expected = model.embedding.logits(model.stack(model.embedding(ids), allowed))
    assert_close(found, expected[:, 1:], atol=1e-4, rtol=1e-5)
    assert_close(model(ids), expected, atol=1e-4, rtol=1e-5)
    assert torch.equal(masks.causal_window(7, 6), masks.causal(7))


def test_the_loss_is_the_sum_of_the_negative_log_likelihoods() -> None:
    model = small()
    batch = TextBatch(torch.randint(0, V, (3, 12)))
    log_p = model(batch.text_in).log_softmax(-1).gather(2, batch.text_out[..., None])
    loss = model.loss(batch, 1)
    assert batch.counts == {"tokens": 33, "texts": 3}
    assert_close(loss["loss"].sum, -log_p.sum(), atol=1e-3, rtol=1e-5)


@torch.no_grad()
def test_no_position_depends_on_later_tokens() -> None:
    model = small()
    ids = torch.randint(1, V, (1, CONTEXT))
    other = ids.clone()
    other[0, 7] = 0
    same = (model(ids) == model(other)).all(2)[0]
    assert same.tolist() == [True] * 7 + [False] * (CONTEXT - 7)


def test_the_defaults_are_initialised_as_in_the_papers() -> None:
    model = GPT(Settings(vocab_size=997, context=64, d_model=256, num_layers=2, num_heads=4))
    layer = model.stack.layers[0]
    assert model.embedding.weight.std().item() == pytest.approx(0.02, rel=0.03)
    assert layer.get_parameter("feed_forward.w_1.weight").std().item() == pytest.approx(0.02, rel=0.03)
    # Two sublayers per layer: N = 4 of them add to the residual stream.
    for name in ("self_attention.w_o.weight", "feed_forward.w_2.weight"):
        assert layer.get_parameter(name).std().item() == pytest.approx(0.02 / math.sqrt(4), rel=0.03)


PUBLISHED = {
    "gpt2": 124e6,  # the paper's Table 2 has 117, 345, 762 and 1,542 M; OpenAI corrected the first two itself
    "gpt2-medium": 355e6,
    "gpt2-large": 774e6,
    "gpt2-xl": 1558e6,
    "gpt3-small": 125e6,
    "gpt3-medium": 350e6,
    "gpt3-large": 760e6,
    "gpt3-xl": 1.3e9,
    "gpt3-2.7b": 2.7e9,
    "gpt3-6.7b": 6.7e9,
    "gpt3-13b": 13e9,
    "gpt3-175b": 175e9,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_recipe_has_the_published_number_of_parameters(name: str) -> None:
    settings = recipes.load(name).model
    assert isinstance(settings, Settings)
    with torch.device("meta"):
        model = GPT(settings.model_copy(update={"vocab_size": 50_257}))
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(PUBLISHED[name], rel=0.02)


def test_two_rows_of_the_gpt3_table_contradict_themselves() -> None:
    with pytest.raises(ValueError, match="not a multiple"):
        Settings(d_model=5140, num_heads=40, context=2048)  # 13B
    with pytest.raises(ValueError, match="not a multiple"):
        Settings(d_model=2048, num_heads=24, context=2048)  # XL
    as_printed = Settings(d_model=2048, num_heads=24, d_k=128, num_layers=24, context=2048)
    with torch.device("meta"):
        count = sum(p.numel() for p in GPT(as_printed).parameters())
    assert count > 1.15 * 1.3e9
