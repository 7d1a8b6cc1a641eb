"""Validation of requests: the fields of LibreTranslate's API, and those common to both APIs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from multihead.apps.serve.refusal import RefusedError
from multihead.errors import UserError
from multihead.text.languages import canonical

MAX_ALTERNATIVES = 9
MAX_TEXTS = 1_000
"""Number of texts of a request."""
COUNT_DIGITS = 3

Format = Literal["text", "html"]


@dataclass(frozen=True)
class TranslationRequest:
    """Texts to translate.

    Attributes:
        texts: texts of any number of sentences.
        single: True if ``q`` was one text, False if it was a list.
        source: language code, "" to detect it.
        target: language code, "" for the only one.
        alternatives: number of further translations of each text.
        format: "html" keeps tags.
        glossary: name of a glossary; None: none.
    """

    texts: Sequence[str]
    single: bool
    source: str = ""
    target: str = ""
    alternatives: int = 0
    format: Format = "text"
    glossary: str | None = None


TRANSLATE = ("q", "source", "target", "format", "alternatives", "glossary", "api_key")
"""Fields of ``/translate``; ``glossary`` is ours, the others are LibreTranslate's."""


def parse_request(values: Mapping[str, object], *, max_chars: int) -> TranslationRequest:
    """Check the fields of ``/translate``.

    Raises:
        RefusedError: a field is malformed or too large.
    """
    q = values.get("q")
    texts = checked_texts(q, "q", max_chars)
    format = values.get("format", "text")
    if format not in ("text", "html"):
        raise RefusedError(400, '"format" must be "text" or "html"')
    glossary = values.get("glossary")
    if glossary is not None and not isinstance(glossary, str):
        raise RefusedError(400, '"glossary" must be the name of a glossary')
    return TranslationRequest(
        texts,
        isinstance(q, str),
        language(values, "source"),
        language(values, "target"),
        _alternatives(values.get("alternatives", 0)),
        "html" if format == "html" else "text",
        glossary,
    )


def refuse_unknown(values: Mapping[str, object], fields: Collection[str], path: str) -> None:
    """Raise ``RefusedError`` for a field that the route does not know: a misspelt option must not pass."""
    unknown = [name for name in values if name not in fields]
    if unknown:
        names = ", ".join(f'"{name[:40]}"' for name in sorted(unknown)[:5])
        raise RefusedError(400, f"unknown field {names}; {path} takes {', '.join(fields)}")


def checked_texts(q: object, name: str, max_chars: int) -> list[str]:
    """Return a text, or a list of texts, as a list."""
    texts = [q] if isinstance(q, str) else q
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise RefusedError(400, f'"{name}" must be a text or a list of texts')
    if len(texts) > MAX_TEXTS:
        raise RefusedError(413, f"more than {MAX_TEXTS:,} texts; split the request")
    if sum(map(len, texts)) > max_chars:
        raise RefusedError(413, f"more than {max_chars:,} characters; split the request")
    for text in texts:
        # JSON can spell halves of characters, which no tokenizer and no terminal can take.
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise RefusedError(400, f'"{name}" has a surrogate without its other half')
    return texts


def one_text(values: Mapping[str, object], name: str, max_chars: int) -> str:
    """Return a field that must be a single text."""
    if not isinstance(values.get(name), str):
        raise RefusedError(400, f'"{name}" must be a text')
    return checked_texts(values[name], name, max_chars)[0]


def language(values: Mapping[str, object], side: str) -> str:
    """Return a language code of a request in canonical form; "" for a missing one and for "auto"."""
    code = values.get(side, "")
    if code is None or code in ("", "auto"):
        return ""
    try:
        if isinstance(code, str) and code.isprintable() and len(code) <= 64:
            return canonical(code)
    except UserError as error:
        raise RefusedError(400, f'"{side}": {error}') from None
    raise RefusedError(400, f'"{side}" must be a language code')


def _alternatives(count: object) -> int:
    if isinstance(count, str) and count.isascii() and count.isdigit() and len(count) <= COUNT_DIGITS:
        count = int(count)  # the fields of a form are texts
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_ALTERNATIVES:
        raise RefusedError(400, f'"alternatives" must be a number from 0 to {MAX_ALTERNATIVES}')
    return count
