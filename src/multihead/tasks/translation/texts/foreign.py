"""Texts in another language than the model translates from."""

from collections.abc import Sequence

from multihead.tasks.translation.texts.text_results import TextTranslation
from multihead.text.identify import other_language
from multihead.text.languages import language as language_of

UNSURE = 0.5
"""Mean confidence below which the language of the texts is detected, which takes half a second once."""


def foreign(translations: Sequence[TextTranslation], language: str) -> str:
    """Return a caution where the texts are surely in another language than the given one; "" otherwise.

    Args:
        translations: the texts and their translations.
        language: code of the language that the model translates from.
    """
    weights = [len(translation.source) for translation in translations]
    sure = sum(w * t.confidence for w, t in zip(weights, translations, strict=True))
    if not any(weights) or sure >= UNSURE * sum(weights):
        return ""
    code = other_language(" ".join(translation.source for translation in translations), language)
    if not code:
        return ""
    names = [language_of(each).name for each in (code, language)]
    return f"the text is in {names[0]}, as it seems, and the model translates from {names[1]}"
