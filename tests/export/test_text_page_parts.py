"""A language model's page: refusals, scores, attention and ids against those of Python, run by node."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from live_pages import in_node
from live_texts import HARD, TEXT, gpt, lossless, parts_of, unicode_lines

from multihead.apps.export.page.text_reference import logits
from multihead.errors import UserError
from multihead.inspect.maps import record_sequence
from multihead.models.gpt import GPT
from multihead.nn.description import CausalSpec, describe
from multihead.nn.feed_forward import FeedForward

VARIANTS: dict[str, dict[str, Any]] = {
    "learned": {},
    "sliding": {"positions": "none", "context": 5},
    "gelu": {"activation": "gelu", "d_k": 7},
    "relu": {"activation": "relu"},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_scores_and_attention_are_the_models(name: str, tmp_path: Path) -> None:
    tokenizer = lossless()
    model = gpt(tokenizer, **VARIANTS[name])
    ids = tokenizer.encode("the queen said 7 he go")[:19]
    (found,) = in_node(parts_of(model, tokenizer), tmp_path, [{"kind": "read", "ids": ids}])
    ids_1T = torch.tensor([ids])
    with torch.no_grad():
        expected = model(ids_1T)[0]
    silent = [tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id]
    expected[:, silent] = torch.nan
    logits_TV = np.array([row["logits"] for row in found], dtype=np.float64)
    np.testing.assert_allclose(logits_TV, expected.numpy(), rtol=1e-4, atol=1e-3)
    maps = [one.sentence(0) for one in record_sequence(model, lambda one: one(ids_1T), len(ids))]
    for place, row in enumerate(found):
        weights = np.array(row["weights"]).reshape(2, 3, row["seen"])
        own = np.stack([layer[:, place, place + 1 - row["seen"] : place + 1] for layer in maps])
        np.testing.assert_allclose(weights, own, atol=1e-5)


def test_int8_scores_are_close(tmp_path: Path) -> None:
    tokenizer = lossless()
    model = gpt(tokenizer)
    ids = tokenizer.encode("the queen said")
    (found,) = in_node(parts_of(model, tokenizer, exact=False), tmp_path, [{"kind": "read", "ids": ids}])
    with torch.no_grad():
        expected = model(torch.tensor([ids]))[0].numpy()
    known = [number for number in range(tokenizer.vocab_size) if found[0]["logits"][number] is not None]
    logits_TV = np.array([row["logits"] for row in found], dtype=np.float64)[:, known]
    assert np.abs(logits_TV - expected[:, known]).max() < 0.05 * np.ptp(expected)


@pytest.mark.parametrize("name", ["learned", "sliding"])
def test_a_greedy_text_is_the_models_also_beyond_its_context(name: str, tmp_path: Path) -> None:
    tokenizer = lossless()
    model = gpt(tokenizer, **VARIANTS[name])
    ids, count = tokenizer.encode("The"), 41
    request = {"kind": "write", "ids": ids, "count": count, "settings": {"temperature": 0}, "seed": 1}
    (found,) = in_node(parts_of(model, tokenizer), tmp_path, [request])
    silent = [tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id]
    window = list(ids)
    for one in found:
        with torch.no_grad():
            scores_V = model(torch.tensor([window]))[0, -1]
        scores_V[silent] = -torch.inf
        assert one["id"] == int(scores_V.argmax())
        assert one["share"] <= 1
        if name == "learned":
            assert [way["id"] for way in one["ways"]] == scores_V.topk(len(one["ways"])).indices.tolist()
        window.append(one["id"])
        if name == "learned" and len(window) > model.context:
            window = window[-max(1, model.context // 2) :]


def test_random_texts_follow_their_seed_and_settings(tmp_path: Path) -> None:
    tokenizer = lossless()
    model = gpt(tokenizer)
    ids = tokenizer.encode("The")

    def request(seed: int, **given: float) -> dict[str, Any]:
        settings = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, **given}
        return {"kind": "write", "ids": ids, "count": 17, "settings": settings, "seed": seed}

    requests = [
        request(1),
        request(1),
        request(2),
        request(3, top_k=1),
        request(3, top_p=1e-6),
        request(3, temperature=0),
    ]
    found = in_node(parts_of(model, tokenizer), tmp_path, requests)
    first, again, other, one, least, greedy = ([token["id"] for token in text] for text in found)
    assert first == again != other
    assert one == least == greedy
    with torch.no_grad():
        scores_V = model(torch.tensor([ids]))[0, -1]
    scores_V[[tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id]] = -torch.inf
    draws = in_node(
        parts_of(model, tokenizer), tmp_path, [{**request(seed), "count": 1} for seed in range(2000)]
    )
    counts = np.bincount([draw[0]["id"] for draw in draws], minlength=tokenizer.vocab_size) / len(draws)
    np.testing.assert_allclose(counts, scores_V.softmax(-1).numpy(), atol=0.05)


@pytest.mark.parametrize("kind", ["chars", "bpe"])
def test_running_text_is_segmented_as_python_does(kind: Literal["bpe", "chars"], tmp_path: Path) -> None:
    tokenizer = lossless(kind)
    texts = [*HARD, TEXT, " \n\n  x  \n", "I'll they've 'tis don't", *unicode_lines(503)]
    made = parts_of(gpt(tokenizer), tokenizer)
    rows = [tokenizer.encode(text) for text in texts]
    encoded, decoded = in_node(
        made, tmp_path, [{"kind": "encode", "texts": texts}, {"kind": "decode", "rows": rows}]
    )
    assert [text for text, ids, row in zip(texts, encoded, rows, strict=True) if ids != row] == []
    if kind == "bpe":
        assert decoded == texts


def test_the_description_alone_gives_the_models_scores() -> None:
    tokenizer = lossless()
    model = gpt(tokenizer)
    ids_T = torch.tensor(tokenizer.encode("the queen"))
    with torch.no_grad():
        torch.testing.assert_close(logits(describe(model, CausalSpec), ids_T), model(ids_T[None])[0])


def test_a_language_model_that_computes_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = lossless()
    model = gpt(tokenizer)
    plain = FeedForward.forward
    monkeypatch.setattr(FeedForward, "forward", lambda self, x: 1.5 * plain(self, x))
    with pytest.raises(UserError, match="the page computes a different model"):
        parts_of(model, tokenizer)


def test_a_subclass_of_gpt_that_does_not_describe_itself_is_refused() -> None:
    class Other(GPT):
        pass

    tokenizer = lossless()
    model = gpt(tokenizer)
    model.__class__ = Other
    with pytest.raises(UserError, match="Other inherits a description and has none of its own"):
        parts_of(model, tokenizer)
