"""Texts with values that a page puts into its reader's language."""

Phrase = list[str | int]
"""A text with {} for each value, and the values: numbers, names, or texts that the page knows as well."""


def phrase(text: str, *values: str | int) -> Phrase:
    """Return a phrase; ``page.ko.json`` has its text in Korean."""
    return [text, *values]
