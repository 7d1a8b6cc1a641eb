"""Llama and Mixtral against Hugging Face's with copied weights, cached against whole, and their variants."""

from typing import Any

import pytest
import torch
from hugging_face import as_ours
from pydantic import ValidationError
from torch.testing import assert_close
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
)

from multihead.apps.huggingface.foreign import llama, mistral, mixtral
from multihead.batch import Source, TextBatch
from multihead.models import mixtral as experts
from multihead.models.llama import Llama, Settings
from multihead.nn.parts.mixture_of_experts import MixtureOfExperts, balances

V, CONTEXT, B, N = 37, 13, 3, 11
SIZES: dict[str, Any] = {
    "vocab_size": V,
    "context": CONTEXT,
    "d_model": 24,
    "num_layers": 2,
    "num_heads": 6,
    "num_kv_heads": 2,
    "d_ff": 29,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {},
    "tied": {"tied": True},
    "layer norm": {"norm": "layer", "bias": True},
    "geglu": {"activation": "geglu"},
    "plain": {"activation": "gelu"},
    "alibi": {"positions": "alibi"},
    "relative": {"positions": "relative"},
    "learned": {"positions": "learned"},
    "no positions": {"positions": "none"},
    "query-key norm": {"query_key_norm": True},
    "experts": {"experts": 5, "experts_per_token": 2},
    "one of two plain experts": {"experts": 2, "experts_per_token": 1, "activation": "gelu", "bias": True},
}
CONVERTERS: dict[str, Any] = {
    "llama": (llama, LlamaConfig, LlamaForCausalLM),
    "mistral": (mistral, MistralConfig, MistralForCausalLM),
    "mixtral": (mixtral, MixtralConfig, MixtralForCausalLM),
}
EVERY = pytest.mark.parametrize("variant", VARIANTS)


def of(settings: dict[str, Any]) -> Llama:
    if "experts" in settings:
        return experts.Mixtral(experts.Settings.model_validate(settings))
    return Llama(Settings.model_validate(settings))


def made(variant: str) -> Llama:
    model = of({**SIZES, **VARIANTS[variant]}).eval()
    torch.manual_seed(2)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def theirs_of(kind: str, **changed: Any) -> Any:
    _, config, model = CONVERTERS[kind]
    sizes = {
        "vocab_size": V,
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "intermediate_size": 29,
        "max_position_embeddings": 19,
    }
    theirs = model(config(**{**sizes, **changed}))
    if kind == "mixtral":
        theirs.set_experts_implementation("eager")  # the others need widths that are multiples of 8
    theirs.eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return theirs


@torch.no_grad()
@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("llama", {}),
        ("llama", {"tie_word_embeddings": True, "rms_norm_eps": 1e-3}),
        ("llama", {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}, "head_dim": 10}),
        ("mistral", {"sliding_window": None}),
        ("mistral", {"sliding_window": 5}),
        ("mixtral", {"num_local_experts": 5}),
        ("mixtral", {"num_local_experts": 3, "num_experts_per_tok": 1, "sliding_window": 7}),
    ],
)
def test_the_logits_equal_hugging_faces(kind: str, changed: dict[str, Any]) -> None:
    theirs = theirs_of(kind, **changed)
    settings, weights = as_ours(CONVERTERS[kind][0], theirs)
    ours = of(settings).eval()
    ours.load_state_dict(weights)
    ids = torch.randint(0, V, (B, N))
    expected = theirs(ids).logits
    assert expected.std() > 0.3
    assert_close(ours(ids), expected, atol=1e-4, rtol=1e-4)


@torch.inference_mode()
@EVERY
def test_steps_equal_the_whole_text(variant: str) -> None:
    model, ids = made(variant), torch.randint(0, V, (B, N))
    whole = model(ids)
    empty = Source(torch.zeros(B, 0, dtype=torch.long), torch.zeros(B, dtype=torch.long))
    state = model.start(empty, [row[: 2 + b] for b, row in enumerate(ids.tolist())])
    for n in range(4):
        logits, state = model.step(torch.stack([ids[b, 1 + b + n] for b in range(B)]), state)
        assert_close(logits, torch.stack([whole[b, 1 + b + n] for b in range(B)]), atol=1e-4, rtol=1e-4)


@EVERY
def test_every_weight_learns(variant: str) -> None:
    model, ids = made(variant).train(), torch.randint(0, V, (B, N + 1))
    found = model.loss(TextBatch(ids), 1)
    sum(term.sum for term in found.values() if term.weight).backward()  # type: ignore[union-attr]
    still = [n for n, w in model.named_parameters() if w.grad is None or not w.grad.abs().max() > 0]
    # Without positions, the keys' bias shifts all scores of a query equally.
    assert [name for name in still if "w_k.bias" not in name] == []


@pytest.mark.parametrize("variant", ["as published", "alibi", "no positions"])
def test_a_text_may_exceed_the_context(variant: str) -> None:
    model = made(variant)
    assert model.slides
    assert model(torch.randint(0, V, (1, 2 * CONTEXT))).shape == (1, 2 * CONTEXT, V)
    assert not made("learned").slides


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"num_heads": 5, "num_kv_heads": 0}, "d_model 24 is not a multiple of num_heads 5"),
        ({"num_kv_heads": 4}, "num_heads 6 is not a multiple of num_kv_heads 4"),
        ({"d_k": 7}, "the width of a head, d_k, is odd"),
        ({"query_key_norm": True, "positions": "alibi"}, 'query_key_norm excludes positions = "alibi"'),
        ({"experts": 3, "experts_per_token": 4}, "experts_per_token 4 exceeds experts 3"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes: dict[str, Any], fact: str) -> None:
    with pytest.raises(ValidationError, match=fact):
        of({**SIZES, **changes})


def test_the_balance_loss_is_added_for_each_token() -> None:
    model, ids = made("experts").train(), torch.randint(0, V, (B, N + 1))
    found = model.loss(TextBatch(ids), 1)
    mixtures = [part for part in model.modules() if isinstance(part, MixtureOfExperts)]
    assert len(mixtures) == 2
    assert_close(found["balance"].sum, balances(model) * B * N)
    assert (found["balance"].weight, found["balance"].per) == (0.01, "tokens")
    assert found.keys() == {"loss", "accuracy", "balance"}
