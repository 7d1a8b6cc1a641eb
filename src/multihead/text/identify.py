"""Language identification of short texts, as a hint.

Published identifiers know few small languages and mistake related ones, so nothing is dropped on a guess.
Needs an extra: ``pip install 'multihead[identify]'``.
"""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from multihead.errors import UserError
from multihead.text.languages import canonical, primary

_OLDEST = "0.4"
"""Earlier versions unpickle their model."""
_MOST = 2_000
"""Maximum number of characters read; more change nothing."""


SURE, UNLIKELY, ENOUGH = 0.9, 0.01, 40
"""Probability of another language and of the expected one from which on a text is called foreign, and its
characters at least."""


class Guess(NamedTuple):
    """A language, by its code, and the probability that the identifier gives it."""

    code: str
    probability: float


def identify(text: str, among: Iterable[str] = (), most: int = 5) -> list[Guess]:
    """Return the most probable languages of a text, the best first.

    Args:
        text: a sentence or more; one without letters has no language, and gives an empty list.
        among: codes of the languages to consider; empty: all. Languages unknown to the identifier are never
            returned.
        most: maximum number of guesses.

    Raises:
        UserError: the library is not installed.
    """
    if not any(letter.isalpha() for letter in text):
        return []
    codes = {primary(canonical(code)): code for code in among}
    identifier = _identifier()
    guesses = [Guess(canonical(code), float(chance)) for code, chance in identifier.rank(text[:_MOST])]
    if codes:
        guesses = [Guess(codes[code], chance) for code, chance in guesses if code in codes]
        total = sum(chance for _, chance in guesses) or 1.0
        guesses = [Guess(code, chance / total) for code, chance in guesses]
    return guesses[:most]


def other_language(text: str, language: str) -> str:
    """Return the code of the language that a text surely is in, if it is not the given one; "" otherwise.

    Nothing is known ("") of short texts, for a language that the identifier does not know, and without the
    library.
    """
    if len(text) < ENOUGH or not language or not available():
        return ""
    chances = {primary(guess.code): guess.probability for guess in identify(text, most=1_000)}
    best = max(chances, key=chances.__getitem__, default="")
    is_other = best and chances[best] >= SURE and chances.get(primary(canonical(language)), 1.0) < UNLIKELY
    return best if is_other else ""


def available() -> bool:
    """Return whether the library is installed."""
    try:
        _library()
    except UserError:
        return False
    return True


@cache
def _identifier() -> Any:
    library = _library()
    return library.LanguageIdentifier.from_model_file(library.MODEL_FILE, norm_probs=True)


def _library() -> Any:
    # Imported by name, because it is an optional dependency.
    try:
        library = import_module("py3langid.langid")
        import_module("py3langid.modelio")  # the model without pickle
    except ImportError as error:
        fact = f"py3langid {_OLDEST} or later is not installed ({error})"
        raise UserError(fact, remedy="pip install 'multihead[identify]'") from error
    return library
