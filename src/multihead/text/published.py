"""Word tokenizers (spaCy, Moses) that published BLEU scores were computed with.

BLEU on tokenised text depends on the tokenizer, so scores compare only under the same one. Needs an extra:
``pip install 'multihead[published]'``.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from multihead.errors import UserError

Tokenise = Callable[[Sequence[str]], list[str]]
"""Tokenises lines; tokens are separated by single spaces."""


def tokeniser(rules: str, language: str) -> Tokenise:
    """Return a word tokenizer by name.

    Args:
        rules: "spacy" (the rules of ``spacy.blank``, without a model) or "moses" (no aggressive hyphen
            splitting, no escaping).
        language: two-letter language code of the text.

    Raises:
        UserError: no such tokenizer, none for this language, or its library is not installed.
    """
    if rules not in _RULES:
        raise UserError(f'no tokenizer "{rules}"', remedy=f"Choose one of {', '.join(_RULES)}.")
    library, make = _RULES[rules]
    try:
        # Imported by name: the dependency is optional.
        module = import_module(library)
    except ImportError as error:
        raise UserError(
            f"{rules} is not installed ({error})", remedy="Run: pip install 'multihead[published]'"
        ) from error
    try:
        return make(module, language)
    except ImportError as error:
        fact = f'{rules} has no rules for "{language}" ({error})'
        raise UserError(fact, remedy="Choose another language or tokenizer.") from error


def _spacy(spacy: Any, language: str) -> Tokenise:
    split = spacy.blank(language).tokenizer
    return lambda lines: [
        " ".join(token.text for token in split(line) if not token.is_space) for line in lines
    ]


def _moses(sacremoses: Any, language: str) -> Tokenise:
    moses = sacremoses.MosesTokenizer(lang=language)
    return lambda lines: [moses.tokenize(line, return_str=True, escape=False) for line in lines]


_RULES: Mapping[str, tuple[str, Callable[[Any, str], Tokenise]]] = {
    "spacy": ("spacy", _spacy),
    "moses": ("sacremoses", _moses),
}
"""Name -> (library, constructor of the tokenizer)."""
