"""Inspection of GPT and BERT models: predictions and page content of a text."""

import base64
import json

import numpy as np
import pytest
import small_models
import torch
from multihead.tasks.classification.attention import inspect_classification
from multihead.tasks.language.attention import inspect_text
from multihead.tasks.masked.attention import inspect_masked_text

from multihead.errors import UserError
from multihead.inspect import text_inspection
from multihead.inspect.page import PageOptions, explore_text, make_page, sequence
from multihead.inspect.page.kinds import BIDIRECTIONAL, CAUSAL
from multihead.inspect.page.sequence import SequenceExploration
from multihead.models import gpt
from multihead.tasks.language.text_generator import TextGenerator
from multihead.text import lossless


def explored(text: str, options: PageOptions) -> SequenceExploration:
    generator = small_models.gpt_generator(context=401)
    inspection = inspect_text(generator, text)
    return explore_text(inspection, generator.model, generator.tokenizer, CAUSAL, options)


def test_next_token_predictions_are_the_models_probabilities() -> None:
    generator = small_models.gpt_generator()
    text = "the king said"
    with torch.no_grad():
        logits_V = generator.model(torch.tensor([generator.tokenizer.encode(text)]))[0, -1]
    logits_V[
        [generator.tokenizer.pad_id, generator.tokenizer.bos_id, generator.tokenizer.unk_id]
    ] = -torch.inf
    (found,) = inspect_text(generator, text).predictions
    assert list(found.probabilities.values()) == pytest.approx(logits_V.softmax(-1).topk(8).values.tolist())
    assert next(iter(found.probabilities)) in (generator.tokenizer.piece(int(logits_V.argmax())), "␣")


def test_byte_level_predictions_are_distinct_and_show_leading_spaces() -> None:
    tokenizer = lossless.learn(["the king said that the king is the king"], "bpe", 290, 1)
    sizes = gpt.Settings(vocab_size=tokenizer.vocab_size, context=11, **small_models.WIDTHS)
    generator = TextGenerator(gpt.Model(sizes), tokenizer, device=torch.device("cpu"), precision="fp32")
    labels = [text_inspection._token_label(tokenizer, token) for token in range(4, tokenizer.vocab_size)]
    assert len(set(labels)) == len(labels)
    assert "␣the" in labels
    assert len(inspect_text(generator, "the king").predictions[0].probabilities) == 8


def test_class_predictions_are_those_of_the_classifier_and_truncation_is_reported() -> None:
    classifier = small_models.text_classifier(max_length=13)
    text = "the king said that the king is so and that it is so"
    read = inspect_classification(classifier, text)
    assert len(read.tokens.pieces) == 13
    assert read.predictions[0].probabilities == pytest.approx(classifier.classify([text])[0].probabilities)
    (omitted,) = read.omitted
    assert omitted[:2] == ["the text after its first {} of {} tokens, the limit of the model", 11]
    content = explore_text(
        read, classifier.model, classifier.tokenizer, BIDIRECTIONAL, PageOptions(specials=True)
    ).content
    assert content["omitted"] == [omitted]
    assert content["source"]["pieces"][0] == {"text": "<s>", "word": 0, "special": True}


def test_a_text_without_a_mask_can_be_inspected() -> None:
    mask_filler = small_models.mask_filler()
    assert inspect_masked_text(mask_filler, "the king").predictions == ()
    with pytest.raises(UserError, match="41"):
        inspect_masked_text(mask_filler, "the king " * 43)


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_text_is_a_user_error(text: str) -> None:
    with pytest.raises(UserError, match="Give a text"):
        inspect_masked_text(small_models.mask_filler(), text)


def test_a_causal_mask_is_packed_as_one_word() -> None:
    content = explored("the king is so", PageOptions()).content
    layers = content["hypotheses"][0]["layers"]
    assert [(one["kind"], one["layer"], one["allowed"]) for one in layers] == [
        ("self", 1, "causal"),
        ("self", 2, "causal"),
    ]
    raw = np.frombuffer(base64.b64decode(layers[0]["weights"]), np.uint8).reshape(3, 14, 14)
    assert (np.triu(raw, 1) == 0).all()
    assert content["positions"]["kind"] == "learned"
    assert [one["text"] for one in content["neighbours"]["source"]][:3] == ["t", "h", "e"]


def test_a_page_of_a_long_text_names_the_omitted_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    content = explored("the king " * 37, PageOptions()).content
    assert content["omitted"] == [["everything after the first {} of {} tokens", 300, 333]]
    assert len(content["source"]["pieces"]) == content["hypotheses"][0]["layers"][0]["keys"] == 300
    full = explored("the king " * 37, PageOptions(full=True)).content
    assert full["omitted"] == []
    assert len(full["source"]["pieces"]) == 333
    assert len(full["numbers"]) == 6
    monkeypatch.setattr(sequence, "MAX_BYTES", 3 * 4 / 3 * 13**2 + 1)
    assert explored("the king said", PageOptions()).content["omitted"] == [["attention of layer {}", 2]]


def test_the_json_export_is_never_shortened() -> None:
    listed = json.loads(json.dumps(explored("the king " * 37, PageOptions(name="a")).listed))
    assert np.array(listed["attention"][1]["weights"]).shape == (3, 333, 333)
    assert len(listed["pieces"]) == 333


def test_text_and_run_name_stay_inside_their_elements() -> None:
    page = make_page(explored("the <b>king</b> is </script>", PageOptions(name="<b>name"))).html
    assert "<b>king" not in page
    assert "<b>name" not in page
    assert page.count("</script>") == 2
