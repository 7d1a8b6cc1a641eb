"""Validation of translation requests: the fields of LibreTranslate's ``/translate``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_ALTERNATIVES = 9


class RefusedError(Exception):
    """A request that is rejected with an HTTP error.

    Attributes:
        status: HTTP status code.
        fact: the reason, for people.
    """

    def __init__(self, status: int, fact: str) -> None:
        super().__init__(fact)
        self.status, self.fact = status, fact


@dataclass(frozen=True)
class TranslationRequest:
    """Texts to translate.

    Attributes:
        texts: may have several lines each; a line is a sentence.
        single: True if ``q`` was one text, False if it was a list.
        source: language code, "" for any.
        target: language code, "" for any.
        alternatives: number of further translations of each text.
    """

    texts: Sequence[str]
    single: bool
    source: str = ""
    target: str = ""
    alternatives: int = 0


def parse_request(body: object, *, max_chars: int) -> TranslationRequest:
    """Parse and check the body of a request.

    Args:
        body: a JSON object or the fields of a form: ``q``, a text or a list of texts; ``source`` ("auto" for
            any) and ``target``; ``alternatives``; ``format``, which must be "text".
        max_chars: limit for all texts together.

    Raises:
        RefusedError: the body is malformed or too large.
    """
    if not isinstance(body, Mapping):
        raise RefusedError(
            400, 'the body must be a JSON object: {"q": "...", "source": "...", "target": "..."}'
        )
    q = body.get("q")
    texts = [q] if isinstance(q, str) else q
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise RefusedError(400, '"q" must be a text or a list of texts')
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        raise RefusedError(400, '"q" contains an unpaired surrogate, which is not a character')
    if sum(map(len, texts)) > max_chars:
        raise RefusedError(413, f"more than {max_chars:,} characters; split the request")
    if body.get("format", "text") != "text":
        raise RefusedError(400, '"format" must be "text"')
    source, target = (_language(body, side) for side in ("source", "target"))
    return TranslationRequest(
        texts, isinstance(q, str), source, target, _alternatives(body.get("alternatives", 0))
    )


def _language(body: Mapping[str, object], side: str) -> str:
    language = body.get(side, "")
    if not isinstance(language, str) or not language.isprintable():
        raise RefusedError(400, f'"{side}" must be a language code')
    return "" if language == "auto" else language


def _alternatives(count: object) -> int:
    if isinstance(count, str) and count.isascii() and count.isdigit() and len(count) < 4:
        count = int(count)  # the fields of a form are texts
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_ALTERNATIVES:
        raise RefusedError(400, f'"alternatives" must be a number from 0 to {MAX_ALTERNATIVES}')
    return count
