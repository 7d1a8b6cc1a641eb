"""Texts with values, which a page shows in its reader's language."""

Phrase = list[str | int]
"""A text with {} for each value, and the values: numbers, names, or texts that the page translates too."""


def phrase(text: str, *values: str | int) -> Phrase:
    """Return a phrase; ``page.ko.json`` has its text in Korean."""
    return [text, *values]
