"""A text that a model reads: what the page is made of."""

import base64
import json

import looking
import numpy as np
import pytest
import torch

from multihead.errors import UserError
from multihead.generation.text_generator import TextGenerator
from multihead.inspect import text_inspection as reading
from multihead.inspect.page import Asked, explore_reading, make_page, sequence
from multihead.inspect.page.kinds import BOTH_WAYS, CAUSAL
from multihead.inspect.page.sequence import SequenceExploration
from multihead.inspect.text_inspection import read_class, read_gaps, read_text
from multihead.models import gpt
from multihead.text import lossless


def explored(text: str, asked: Asked) -> SequenceExploration:
    writer = looking.writer(context=401)
    return explore_reading(read_text(writer, text), writer.model, writer.tokenizer, CAUSAL, asked)


def test_what_would_follow_is_what_the_model_says() -> None:
    writer = looking.writer()
    text = "the king said"
    with torch.no_grad():
        logits_V = writer.model(torch.tensor([writer.tokenizer.encode(text)]))[0, -1]
    logits_V[[writer.tokenizer.pad_id, writer.tokenizer.bos_id, writer.tokenizer.unk_id]] = -torch.inf
    (found,) = read_text(writer, text).guesses
    assert list(found.answers.values()) == pytest.approx(logits_V.softmax(-1).topk(8).values.tolist())
    assert next(iter(found.answers)) in (writer.tokenizer.piece(int(logits_V.argmax())), "␣")


def test_answers_of_bytes_keep_their_names_and_the_spaces_before_them() -> None:
    tokenizer = lossless.learn(["the king said that the king is the king"], "bpe", 290, 1)
    sizes = gpt.Settings(vocab_size=tokenizer.vocab_size, context=11, **looking.WIDTHS)
    writer = TextGenerator(gpt.Model(sizes), tokenizer, device=torch.device("cpu"), precision="fp32")
    written = [reading._written(tokenizer, token) for token in range(4, tokenizer.vocab_size)]
    assert len(set(written)) == len(written)
    assert "␣the" in written
    assert len(read_text(writer, "the king").guesses[0].answers) == 8


def test_a_class_is_the_one_that_classifying_gives_and_what_is_not_read_is_told() -> None:
    classifier = looking.text_classifier(max_length=13)
    text = "the king said that the king is so and that it is so"
    read = read_class(classifier, text)
    assert len(read.tokens.pieces) == 13
    assert read.guesses[0].answers == pytest.approx(classifier.classify([text])[0].probabilities)
    (told,) = read.left_out
    assert told.startswith("the text after its first 11 of ")
    content = explore_reading(
        read, classifier.model, classifier.tokenizer, BOTH_WAYS, Asked(specials=True)
    ).content
    assert content["leftOut"] == [told]
    assert content["source"]["pieces"][0] == {"text": "<s>", "word": 0, "special": True}


def test_a_text_without_a_gap_can_be_looked_at_too() -> None:
    filler = looking.filler()
    assert read_gaps(filler, "the king").guesses == ()
    with pytest.raises(UserError, match="41"):
        read_gaps(filler, "the king " * 43)


@pytest.mark.parametrize("text", ["", " "])
def test_where_there_is_no_word_that_is_told(text: str) -> None:
    with pytest.raises(UserError, match="there is no"):
        read_gaps(looking.filler(), text)


def test_causal_weights_are_in_the_page_as_such() -> None:
    content = explored("the king is so", Asked()).content
    layers = content["hypotheses"][0]["layers"]
    assert [(one["kind"], one["layer"], one["allowed"]) for one in layers] == [
        ("self", 1, "causal"),
        ("self", 2, "causal"),
    ]
    raw = np.frombuffer(base64.b64decode(layers[0]["weights"]), np.uint8).reshape(3, 14, 14)
    assert (np.triu(raw, 1) == 0).all()
    assert content["positions"]["kind"] == "learned"
    assert [one["text"] for one in content["neighbours"]["source"]][:3] == ["t", "h", "e"]


def test_of_long_texts_the_page_says_what_it_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    content = explored("the king " * 37, Asked()).content
    assert content["leftOut"] == ["what comes after the first 300 of 333 tokens"]
    assert len(content["source"]["pieces"]) == content["hypotheses"][0]["layers"][0]["keys"] == 300
    full = explored("the king " * 37, Asked(full=True)).content
    assert full["leftOut"] == []
    assert len(full["source"]["pieces"]) == 333
    assert len(full["numbers"]) == 6
    monkeypatch.setattr(sequence, "MOST_BYTES", 3 * 4 / 3 * 13**2 + 1)
    assert explored("the king said", Asked()).content["leftOut"] == ["attention of layer 2"]


def test_numbers_of_a_head_and_of_the_text_are_listed_whole() -> None:
    listed = json.loads(json.dumps(explored("the king " * 37, Asked(name="a")).listed))
    assert np.array(listed["attention"][1]["weights"]).shape == (3, 333, 333)
    assert len(listed["pieces"]) == 333


def test_no_text_can_leave_its_element() -> None:
    page = make_page(explored("the <b>king</b> is </script>", Asked(name="<b>name"))).html
    assert "<b>king" not in page
    assert "<b>name" not in page
    assert page.count("</script>") == 2
