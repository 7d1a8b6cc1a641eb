"""Labels of pages of reStructuredText: those that ``:ref:`` names, and those that are defined."""

import re
from collections.abc import Iterator

_TARGET = re.compile(r"^[ \t]*\.\.[ \t]+_(`?)((?:[^`:\\\n]|\\.|:(?!\s))+)\1:(?=\s|\Z)", re.MULTILINE)
_REF = re.compile(r":ref:`(?:[^`<>]{1,500}<([^`<>]{1,500})>|([^`<>]{1,500}))`")


def target_names(text: str) -> Iterator[str]:
    """Yield the names of the targets of a page."""
    return (name(match[2]) for match in _TARGET.finditer(text))


def reference_names(text: str) -> Iterator[str]:
    """Yield the names that ``:ref:`` refers to, in any page."""
    return (name(match[1] or match[2]) for match in _REF.finditer(text))


def name(text: str) -> str:
    """Return a name as docutils compares it."""
    return " ".join(text.casefold().split())
