"""The word tokenizers that published BLEU figures were computed with.

A figure on tokenised text depends on whose rules cut it; only figures by the same rules can be compared.
Needs an extra: ``pip install 'multihead[published]'``.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from multihead.errors import UserError

Tokenise = Callable[[Sequence[str]], list[str]]
"""Cuts lines into words, set apart by single spaces."""


def tokeniser(rules: str, language: str) -> Tokenise:
    """Return a tokenizer by the name of its rules.

    Args:
        rules: "spacy" (rules only, ``spacy.blank``: no model is loaded) or "moses" (aggressive hyphens off,
            characters not escaped).
        language: of the text, two letters.

    Raises:
        UserError: no such rules, none for this language, or the library is not installed.
    """
    if rules not in _RULES:
        raise UserError(f'there are no rules "{rules}"', remedy=f"Choose one of {', '.join(_RULES)}.")
    library, make = _RULES[rules]
    try:
        # Imported by name, because it is an optional dependency.
        module = import_module(library)
    except ImportError as error:
        raise UserError(
            f"{rules} is not installed ({error})", remedy="pip install 'multihead[published]'"
        ) from error
    try:
        return make(module, language)
    except ImportError as error:
        fact = f'{rules} has no rules for "{language}" ({error})'
        raise UserError(fact, remedy="Name another language, or other rules.") from error


def _spacy(spacy: Any, language: str) -> Tokenise:
    cut = spacy.blank(language).tokenizer
    return lambda lines: [" ".join(token.text for token in cut(line) if not token.is_space) for line in lines]


def _moses(sacremoses: Any, language: str) -> Tokenise:
    cut = sacremoses.MosesTokenizer(lang=language)
    return lambda lines: [cut.tokenize(line, return_str=True, escape=False) for line in lines]


_RULES: Mapping[str, tuple[str, Callable[[Any, str], Tokenise]]] = {
    "spacy": ("spacy", _spacy),
    "moses": ("sacremoses", _moses),
}
"""The library of each, and how its tokenizer is made."""
