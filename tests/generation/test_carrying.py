"""Lines with their placeholders carried as symbols, as evaluation and validation search them."""

import pytest
from scripted_translator import ScriptedTranslator

from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.tasks.translation.texts.carrying import translate_lines
from multihead.text.changed_kinds import not_kept
from multihead.text.symbols import PLACEHOLDERS
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

LINES = ["gtk3 und 3,5 Hunde", "", "ein Hund <ph0>", "DER HUND"]
CHANGED = not_kept({"kept": ["digits"]})


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train(LINES, TokenizerSettings(vocab_size=330, symbols=("standard",)))


def test_placeholders_are_carried_and_restored(tokenizer: Tokenizer) -> None:
    translator = ScriptedTranslator(
        tokenizer, lambda line, _: [line.replace(" und ", " and ")] if line else []
    )
    found = translate_lines(translator, LINES, SearchSettings(), PLACEHOLDERS, CHANGED)
    assert translator.calls == [["<ph0> und <ph1> Hunde", "", "ein Hund <<ph0>>", "DER HUND"]]
    assert [one.text for one in found] == ["gtk3 and 3,5 Hunde", "", "ein Hund <ph0>", "DER HUND"]
    assert [one.source for one in found] == LINES


def test_what_an_output_loses_is_not_searched_again(tokenizer: Tokenizer) -> None:
    searched: list[str] = []

    def script(line: str, settings: SearchSettings) -> list[str]:
        searched.append(line)
        return ["nothing"]

    (found,) = translate_lines(
        ScriptedTranslator(tokenizer, script), LINES[:1], SearchSettings(), PLACEHOLDERS, CHANGED
    )
    assert found.text == "nothing"
    assert searched == ["<ph0> und <ph1> Hunde"]


def test_a_model_without_placeholders_gets_each_line_as_it_is(tokenizer: Tokenizer) -> None:
    translator = ScriptedTranslator(tokenizer, lambda line, _: [line])
    translate_lines(translator, LINES, SearchSettings(), ("<bt>",), CHANGED)
    assert translator.calls == [LINES]
