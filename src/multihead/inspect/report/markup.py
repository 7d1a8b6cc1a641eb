"""Markup from text: whatever is no markup yet is escaped, so that a token "<script>" is shown and not run."""

import html
from collections.abc import Iterable
from typing import TypeAlias

from multihead.inspect import pictures

LONGEST = 4000
"""Characters of a text that are shown."""


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child: TypeAlias = "str | int | float | Iterable[Child] | None"
"""What stands in an element: text, numbers, elements, and lists of these; None is nothing."""


def tag(name: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """Return an element.

    Args:
        name: of the element, "div".
        children: what stands in it.
        attributes: by name, "-" written "_" and a last "_" ignored (``class_``); True gives one without a
            value, None and False give none.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(children: Child) -> Markup:
    """Return children one after the other, text escaped and control characters shown as numbers."""
    if children is None:
        return Markup()
    if isinstance(children, Markup):
        return children
    if isinstance(children, str):
        return Markup(html.escape(pictures.visible(children, LONGEST)))
    if isinstance(children, int | float):
        return Markup(html.escape(str(children)))
    return Markup("".join(map(join, children)))


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    shown = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return f' {name}="{html.escape(pictures.visible(shown, LONGEST))}"'
