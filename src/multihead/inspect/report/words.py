"""Texts of a report in English and Korean; the page shows English and can switch."""

import re
from collections.abc import Mapping

from multihead.inspect.korean import REPORT


class Said(str):
    """A text in English, with its Korean translation.

    Attributes:
        korean: the Korean text.
    """

    __slots__ = ("korean",)
    korean: str

    def __add__(self, other: str) -> "Said":
        """Concatenate in both languages."""
        return _message(f"{self}{other}", self.korean + (other.korean if isinstance(other, Said) else other))


def say(key: str, *values: object, table: Mapping[str, str] = REPORT) -> Said:
    """Return a text with its values filled in, and its Korean from a table, which may reorder them.

    Raises:
        KeyError: the table has no such text.
    """
    korean = [value.korean if isinstance(value, Said) else str(value) for value in values]
    return _message(_fill(key, [str(value) for value in values]), _fill(table[key], korean))


def translate_known(text: str) -> str:
    """Return a text with its Korean if the table has it, otherwise unchanged."""
    return say(text) if text in REPORT else text


def both(text: str) -> Said:
    """Return a text with its Korean; a plain text is the same in both languages."""
    return text if isinstance(text, Said) else _message(text, text)


def _message(english: str, korean: str) -> Said:
    text = Said(english)
    text.korean = korean
    return text


def _fill(text: str, values: list[str]) -> str:
    order = iter(values)
    return re.sub(r"\{(\d*)\}", lambda match: values[int(match[1])] if match[1] else next(order), text)
