"""Directives such as ``%s`` in messages of programs: numbered for the model, restored afterwards."""

from collections.abc import Callable
from functools import partial

from multihead.data.documents.library import Markup, Segment, Tag
from multihead.text import format_strings

_NUMBERED = frozenset(
    f"{name}-format"
    for name in (
        "c",
        "objc",
        "php",
        "perl",
        "tcl",
        "awk",
        "java-printf",
        "python-brace",
        "rust",
        "gcc-internal",
    )
)
"""Flags of messages in PO files whose directives may be numbered."""
MOVED = "directives without numbers have changed places"


def number_directives(segment: Segment, messages: str) -> Markup:
    """Return the source of a message with numbered directives, so that equal ones are not mistaken.

    Args:
        segment: the message.
        messages: see ``Format.messages``; "" for a text that is not a message.
    """
    return _map_text(segment.source, format_strings.number) if messages else segment.source


def remove_numbers(segment: Segment, translation: Markup, messages: str) -> tuple[Markup, list[str]]:
    """Return a translation in the style of its source, and the directives that this style cannot say.

    Directives that changed places stay numbered if the message allows it.
    """
    if not messages:
        return translation, []
    source = text_of(segment.source)
    forms = [
        _map_text(translation, partial(format_strings.without_numbers, source=source, may_number=may))
        for may in (True, False)
    ]
    if messages == "numbers" or (messages == "flags" and not _NUMBERED.isdisjoint(segment.flags)):
        return forms[0], []
    return forms[1], [MOVED] if forms[0] != forms[1] else []


def directive_faults(segment: Segment, target: Markup, messages: str) -> list[str]:
    """Return why a program could not fill a translation, as ``msgfmt --check`` does."""
    if not messages or any(flag.startswith("no-") for flag in segment.flags):
        return []
    is_qt = messages == "qt" or any(flag.startswith("qt-") for flag in segment.flags)
    return format_strings.faults(text_of(segment.source), text_of(target), is_qt=is_qt)


def text_of(markup: Markup) -> str:
    """Return the text of markup, with NUL in place of each tag."""
    return "".join(piece if isinstance(piece, str) else "\0" for piece in markup.pieces)


def _map_text(markup: Markup, change: Callable[[str], str]) -> Markup:
    """Return markup with a function applied to its text, which leaves the NUL in place of each tag."""
    texts = change(text_of(markup)).split("\0")
    tags = [piece for piece in markup.pieces if isinstance(piece, Tag)]
    return Markup.of(texts[0], *(piece for pair in zip(tags, texts[1:], strict=True) for piece in pair))
