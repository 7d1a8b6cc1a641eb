"""What a request may ask, checked: the fields of LibreTranslate's ``/translate``, which many tools speak."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOST_ALTERNATIVES = 9


class RefusedError(Exception):
    """A request that is not answered.

    Attributes:
        status: HTTP's number for why.
        fact: what is wrong, for a person.
    """

    def __init__(self, status: int, fact: str) -> None:
        super().__init__(fact)
        self.status, self.fact = status, fact


@dataclass(frozen=True)
class Question:
    """Texts to translate.

    Attributes:
        texts: as they came; each may have several lines, and a line is a sentence.
        one: whether a text came by itself, not in a list.
        source: language to translate from, "" for any.
        target: language to translate to, "" for any.
        alternatives: further translations wanted of each text.
    """

    texts: Sequence[str]
    one: bool
    source: str = ""
    target: str = ""
    alternatives: int = 0


def question(asked: object, *, most_chars: int) -> Question:
    """Read what a request's body says.

    Args:
        asked: JSON's object, or a form's fields: ``q``, a text or a list of texts; ``source`` ("auto" for
            any) and ``target``; ``alternatives``; ``format``, which can only be "text".
        most_chars: of all texts together.

    Raises:
        RefusedError: anything else.
    """
    if not isinstance(asked, Mapping):
        raise RefusedError(
            400, 'the body must be a JSON object: {"q": "...", "source": "...", "target": "..."}'
        )
    q = asked.get("q")
    texts = [q] if isinstance(q, str) else q
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise RefusedError(400, '"q" must be a text, or a list of texts')
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        raise RefusedError(400, '"q" has half of a surrogate pair in it, which is no character')
    if sum(map(len, texts)) > most_chars:
        raise RefusedError(413, f"more than {most_chars:,} characters; ask in parts")
    if asked.get("format", "text") != "text":
        raise RefusedError(400, '"format" can only be "text"')
    source, target = (_language(asked, side) for side in ("source", "target"))
    return Question(texts, isinstance(q, str), source, target, _alternatives(asked.get("alternatives", 0)))


def _language(asked: Mapping[str, object], side: str) -> str:
    language = asked.get(side, "")
    if not isinstance(language, str):
        raise RefusedError(400, f'"{side}" must be a language\'s code')
    if not language.isprintable():
        raise RefusedError(400, f'"{side}" is no language\'s code')
    return "" if language == "auto" else language


def _alternatives(wanted: object) -> int:
    if isinstance(wanted, str) and wanted.isascii() and wanted.isdigit() and len(wanted) < 4:
        wanted = int(wanted)  # a form has texts only
    if isinstance(wanted, bool) or not isinstance(wanted, int) or not 0 <= wanted <= MOST_ALTERNATIVES:
        raise RefusedError(400, f'"alternatives" must be a number from 0 to {MOST_ALTERNATIVES}')
    return wanted
