"""HTML from text. Plain text is always escaped, so that a token "<script>" is displayed, never executed."""

import html
from collections.abc import Iterable
from typing import TypeAlias

from multihead.inspect import figures
from multihead.inspect.report.words import Said

LONGEST = 4000
"""Maximum number of characters of a text."""


class SafeHtml(str):
    """HTML, which is not escaped again."""

    __slots__ = ()


Child: TypeAlias = "str | int | float | Iterable[Child] | None"
"""Content of an element: text, numbers, elements, and nested lists of these; None is empty."""


def tag(name: str, *children: Child, **attributes: str | float | bool | None) -> SafeHtml:
    """Return an HTML element.

    Args:
        name: tag name, "div".
        children: content.
        attributes: attributes by name, with "_" for "-" and an ignored trailing "_" (``class_``). True: an
            attribute without a value; None and False: no attribute.
    """
    markup = "".join(_attribute(key, value) for key, value in attributes.items())
    if len(children) == 1 and isinstance(only := children[0], Said):
        korean = _attribute("data_ko", only.korean)
        return SafeHtml(f"<{name}{markup}{korean}>{html.escape(figures.visible(only, LONGEST))}</{name}>")
    return SafeHtml(f"<{name}{markup}>{join(children)}</{name}>")


def join(children: Child) -> SafeHtml:
    """Concatenate children; text is escaped and control characters are shown as numbers."""
    if children is None:
        return SafeHtml()
    if isinstance(children, SafeHtml):
        return children
    if isinstance(children, Said):
        return tag("span", children)
    if isinstance(children, str):
        return SafeHtml(html.escape(figures.visible(children, LONGEST)))
    if isinstance(children, int | float):
        return SafeHtml(html.escape(str(children)))
    return SafeHtml("".join(map(join, children)))


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    also = _attribute("data_ko_label", value.korean) if isinstance(value, Said) else ""
    return f' {name}="{html.escape(figures.visible(text, LONGEST))}"{also}'
