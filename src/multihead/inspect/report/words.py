"""Texts of a report in both languages: the page shows the English one and switches to the Korean."""

import re

from multihead.inspect.korean import REPORT


class Said(str):
    """A text in English that knows its Korean.

    Attributes:
        korean: the same in Korean.
    """

    __slots__ = ("korean",)
    korean: str

    def __add__(self, other: str) -> "Said":
        """Concatenate in both languages."""
        return _message(f"{self}{other}", self.korean + (other.korean if isinstance(other, Said) else other))


def say(key: str, *values: object) -> Said:
    """Return a text of the table of words, with its values filled in; a Korean text may reorder them.

    Raises:
        KeyError: the table has no such text.
    """
    korean = [one.korean if isinstance(one, Said) else str(one) for one in values]
    return _message(_fill(key, [str(one) for one in values]), _fill(REPORT[key], korean))


def known(text: str) -> str:
    """Return a text from elsewhere with its Korean if the table has it, otherwise as it is."""
    return say(text) if text in REPORT else text


def both(text: str) -> Said:
    """Return a text that is the same in both languages, or has its Korean already."""
    return text if isinstance(text, Said) else _message(text, text)


def _message(english: str, korean: str) -> Said:
    text = Said(english)
    text.korean = korean
    return text


def _fill(text: str, values: list[str]) -> str:
    order = iter(values)
    return re.sub(r"\{(\d*)\}", lambda found: values[int(found[1])] if found[1] else next(order), text)
