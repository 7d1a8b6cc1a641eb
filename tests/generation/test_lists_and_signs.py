"""Marks of lists, indentation and signs go around the model, and stay in their places."""

import pytest
from capitals import capital_translator
from scripted_translator import ScriptedTranslator

from multihead.tasks.translation.texts.text_layout import laid_out
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.text.markup import Markup


@pytest.fixture(scope="module")
def translator() -> TextTranslator:
    return capital_translator()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- ein Hund", "- EIN HUND"),
        ("  * ein Hund  ", "  * EIN HUND  "),
        ("• ein Hund", "• EIN HUND"),
        ("12. ein Hund", "12. EIN HUND"),
        ("\t(a) ein Hund", "\t(a) EIN HUND"),
        ("iv) ein Hund", "iv) EIN HUND"),
        ("- ein Hund\n- eine Katze", "- EIN HUND\n- EINE KATZE"),
        ("✓ ein Hund", "✓ EIN HUND"),
        ("♪ ein Hund ♪", "♪ EIN HUND ♪"),
        ("ein Hund → eine Katze", "EIN HUND → EINE KATZE"),
        ("ein Hund / eine Katze", "EIN HUND / EINE KATZE"),
        ("ein Hund 🐶 läuft", "EIN HUND 🐶 LÄUFT"),
        ("ein Hund 👩🏽‍🚀!", "EIN HUND 👩🏽‍🚀!"),
        ("✓", "✓"),
        ("→ ♪", "→ ♪"),
        ("<ph14> ein Hund", "<ph14> EIN HUND"),
        ("ein <g0> Hund </x3/> <2de>", "EIN <g0> HUND </x3/> <2DE>"),
    ],
)
def test_what_is_no_text_stays_where_it_is(line: str, expected: str, translator: TextTranslator) -> None:
    assert translator.translate([line])[0].text == expected
    assert all(sign not in unit for call in _calls(translator) for unit in call for sign in "✓♪→🐶")


def _calls(translator: TextTranslator) -> list[list[str]]:
    assert isinstance(translator.translator, ScriptedTranslator)
    return translator.translator.calls


@pytest.mark.parametrize(
    "line", ["1. Mai ist frei", "-5 Grad", "20 °C warm", "100 ㎡", "5 € / Tag", "3.5 ist wenig"]
)
def test_dates_and_units_are_text(line: str) -> None:
    assert laid_out(Markup.of(line), "de").units[0].text.split() == line.replace(" / ", " ").split()
