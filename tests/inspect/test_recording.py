"""Translation of a sentence with recorded attention, for any model."""

from typing import Any

import numpy as np
import pytest
import torch
from gru import Gru
from torch import nn

from multihead.errors import UserError
from multihead.inspect.maps import align
from multihead.models.transformer import Settings, Transformer
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.tasks.translation.attention import inspect_sentence, record_sentence
from multihead.tasks.translation.lines import Translator
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

GERMAN = ["ein Hund und zwei Katzen laufen .", "die Hunde schlafen"]
ENGLISH = ["a dog and two cats run .", "the dogs sleep"]


@pytest.fixture(scope="module")
def vocabularies() -> tuple[Tokenizer, Tokenizer]:
    settings = TokenizerSettings(kind="bpe", vocab_size=290)
    return train(GERMAN, settings), train(ENGLISH, settings)


def a_translator(vocabularies: tuple[Tokenizer, Tokenizer], *models: nn.Module) -> Translator:
    settings = SearchSettings(method="greedy", max_length=11)
    return Translator(models, *vocabularies, device=torch.device("cpu"), precision="fp32", settings=settings)


def a_transformer(vocabularies: tuple[Tokenizer, Tokenizer], **changed: Any) -> Transformer:
    source, target = (tokenizer.vocab_size for tokenizer in vocabularies)
    given: dict[str, Any] = {"d_model": 24, "d_ff": 37, "num_layers": 2, "num_heads": 3, "tied": "none"}
    return Transformer(Settings(source_vocab=source, target_vocab=target, **given, **changed)).eval()


def a_gru(vocabularies: tuple[Tokenizer, Tokenizer]) -> Gru:
    return Gru(*(tokenizer.vocab_size for tokenizer in vocabularies)).eval()


def test_the_models_own_translation_is_recorded(vocabularies: tuple[Tokenizer, Tokenizer]) -> None:
    translator = a_translator(vocabularies, a_transformer(vocabularies))
    text = "zwei Hunde laufen"
    one = record_sentence(translator, text)
    found = translator.translate([text])[0]
    assert one.text == text
    assert one.output == found.text
    source, _ = vocabularies
    tokens = found.hypotheses[0].tokens
    assert [t.text for t in one.source.words] == ["zwei", "Hunde", "laufen", "</s>"]
    assert one.read.pieces[0].text == "<s>"
    assert one.target.pieces[-1].text == "</s>"
    assert [t.text for t in one.read.pieces[1:]] == [t.text for t in one.target.pieces[:-1]]
    S, T = len(source.encode(text)) + 1, len(tokens) + 1
    assert (len(one.source.pieces), len(one.read.pieces), len(one.target.pieces)) == (S, T, T)
    shapes = {(record.kind, record.layer): record.weights_BHQK.shape for record in one.records}
    assert shapes == {
        ("encoder self", 1): (1, 3, S, S),
        ("encoder self", 2): (1, 3, S, S),
        ("decoder self", 1): (1, 3, T, T),
        ("decoder self", 2): (1, 3, T, T),
        ("cross", 1): (1, 3, T, S),
        ("cross", 2): (1, 3, T, S),
    }
    assert all(record.v_BHKd is not None for record in one.records)


def test_a_given_translation_is_recorded_in_place_of_the_models_own(
    vocabularies: tuple[Tokenizer, Tokenizer],
) -> None:
    translator = a_translator(vocabularies, a_transformer(vocabularies))
    one = record_sentence(translator, "zwei Hunde", "two dogs")
    assert one.output == "two dogs"
    assert [t.text for t in one.target.words] == ["two", "dogs", "</s>"]
    assert [t.text for t in one.read.words] == ["<s>", "two", "dogs"]


def test_an_alignment_is_computed_from_the_recording(vocabularies: tuple[Tokenizer, Tokenizer]) -> None:
    translator = a_translator(vocabularies, a_transformer(vocabularies))
    one = record_sentence(translator, "zwei Hunde laufen", "two dogs run")
    made = inspect_sentence(translator, "zwei Hunde laufen", "two dogs run", layer=2, head=3, specials=True)
    cross = next(record for record in one.records if (record.kind, record.layer) == ("cross", 2))
    np.testing.assert_allclose(made.matrix_TS, cross.weights_BHQK[0, 2], atol=1e-6)
    by_words = inspect_sentence(translator, "zwei Hunde laufen", "two dogs run", combine="max", words=True)
    assert by_words.matrix_TS.shape == (3, 3)
    assert "max of 3 heads" in by_words.caption
    default = inspect_sentence(translator, "zwei Hunde laufen", "two dogs run")
    np.testing.assert_array_equal(default.matrix_TS, align(one.records, one.source, one.target).matrix_TS)


def test_a_recurrent_model_has_an_alignment(vocabularies: tuple[Tokenizer, Tokenizer]) -> None:
    translator = a_translator(vocabularies, a_gru(vocabularies))
    made = inspect_sentence(translator, "zwei Hunde", "two dogs", words=True)
    assert [t.text for t in made.source] == ["zwei", "Hunde"]
    assert [t.text for t in made.target] == ["two", "dogs"]
    np.testing.assert_allclose(made.matrix_TS.sum(1), 1, atol=1e-5)


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_sentence_is_a_user_error(text: str, vocabularies: tuple[Tokenizer, Tokenizer]) -> None:
    with pytest.raises(UserError, match="no words"):
        record_sentence(a_translator(vocabularies, a_gru(vocabularies)), text)


@pytest.mark.parametrize(
    ("text", "target"), [("Hund " * 13, None), ("Hund", "dog " * 13), ("Hund " * 13, "dog")]
)
def test_a_sentence_too_long_for_the_model_is_a_user_error(
    text: str, target: str | None, vocabularies: tuple[Tokenizer, Tokenizer]
) -> None:
    model = a_transformer(vocabularies, positions="learned", max_positions=12)
    with pytest.raises(UserError, match=r"has 1[0-9] tokens; the model accepts at most 11"):
        record_sentence(a_translator(vocabularies, model), text, target)


def test_the_attention_of_an_ensemble_cannot_be_recorded(vocabularies: tuple[Tokenizer, Tokenizer]) -> None:
    translator = a_translator(vocabularies, a_gru(vocabularies), a_gru(vocabularies))
    with pytest.raises(UserError, match="attention of an ensemble"):
        record_sentence(translator, "Hund")


def test_an_empty_translation_can_be_recorded(vocabularies: tuple[Tokenizer, Tokenizer]) -> None:
    translator = a_translator(vocabularies, a_gru(vocabularies))
    one = record_sentence(translator, "zwei Hunde", "")
    assert [t.text for t in one.target.pieces] == ["</s>"]
    assert inspect_sentence(translator, "zwei Hunde", "", specials=True).matrix_TS.shape[0] == 1
    assert inspect_sentence(translator, "zwei Hunde", "").matrix_TS.shape[0] == 0
