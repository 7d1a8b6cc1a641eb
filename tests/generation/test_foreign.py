"""A text in another language than the model translates from is named, and no other."""

import pytest

from multihead.tasks.translation.texts.foreign import foreign
from multihead.tasks.translation.texts.text_results import SentenceTranslation, TextTranslation
from multihead.text.identify import available
from multihead.text.markup import Markup

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra identify")
GERMAN = "Ein Hund läuft durch den Schnee und bellt laut."
ENGLISH = "A dog runs through the snow and barks loudly at us."


def caution(text: str, language: str, confidence: float = 0.3) -> str:
    sentence = SentenceTranslation(text, "x", confidence=confidence)
    return foreign([TextTranslation(text, Markup.of("x"), (), (sentence,))], language)


def test_another_language_is_named() -> None:
    assert (
        caution(GERMAN, "en") == "the text is in German, as it seems, and the model translates from English"
    )
    assert "in English" in caution(ENGLISH, "de-AT")


@pytest.mark.parametrize(
    ("text", "language", "confidence"),
    [
        pytest.param(GERMAN, "de", 0.3, id="the right language"),
        pytest.param(GERMAN, "en", 0.6, id="translated with confidence"),
        pytest.param("Ein Hund", "en", 0.3, id="too short"),
        pytest.param(GERMAN, "", 0.3, id="no language is known of the model"),
        pytest.param(GERMAN, "qaa", 0.3, id="a made-up language"),
        pytest.param("libfoo provides a library of functions for C++ programs", "en", 0.3, id="technical"),
        pytest.param("C2275/C3370/C3375 " * 9, "en", 0.3, id="no words"),
    ],
)
def test_doubt_is_not_voiced(text: str, language: str, confidence: float) -> None:
    assert not caution(text, language, confidence)
