"""The word tokenizers that published BLEU figures were computed with.

A figure on tokenised text depends on whose rules cut it; only figures by the same rules can be compared.
Needs an extra: ``pip install 'multihead[published]'``.
"""

from collections.abc import Callable, Sequence
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
        UserError: no such rules, or the library is not installed.
    """
    makers = {"spacy": _spacy, "moses": _moses}
    if rules not in makers:
        raise UserError(f'there are no rules "{rules}"', remedy=f"Choose one of {', '.join(makers)}.")
    try:
        return makers[rules](language)
    except ImportError as error:
        raise UserError(
            f"{rules} is not installed ({error})", remedy="pip install 'multihead[published]'"
        ) from error


def _spacy(language: str) -> Tokenise:
    # Imported by name, because it is an optional dependency.
    cut: Any = import_module("spacy").blank(language).tokenizer
    return lambda lines: [" ".join(token.text for token in cut(line)) for line in lines]


def _moses(language: str) -> Tokenise:
    cut: Any = import_module("sacremoses").MosesTokenizer(lang=language)
    return lambda lines: [cut.tokenize(line, return_str=True, escape=False) for line in lines]
