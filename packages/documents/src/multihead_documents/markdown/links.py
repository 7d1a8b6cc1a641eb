"""Links of Markdown: places of a page that it links to, and places of other pages."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

_LINK = re.compile(r"\]\(\s*<?#([^\s<>()]+)")
_BEYOND = re.compile(
    r"""(?:\]\(\s*<?|^[ ]{0,3}\[[^\[\]]+\]:\s*<?|\bhref\s*=\s*["']?)([^\s<>()"'#:]+)#([^\s<>()"'#]+)""",
    re.MULTILINE | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"""\bhref\s*=\s*["']?#([^\s"'<>]+)""", re.IGNORECASE)
_OWN = re.compile(
    r"""<[a-z][^<>]*?\s(?:id|name)\s*=\s*["']?([^\s"'<>]+)|\{[^{}\n]*#([\w.:-]+)""", re.IGNORECASE
)
"""An id: of an HTML element, ``<a id="x">``, or among attributes, ``{#x}``."""


def links_within(text: str, references: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the places of the page that it links to, but for those that it names itself.

    Args:
        text: the page.
        references: its link reference definitions, as markdown-it has them.
    """
    targets = {*_LINK.findall(text), *_ATTRIBUTE.findall(text)}
    targets |= {
        str(reference["href"])[1:]
        for reference in references.values()
        if str(reference["href"]).startswith("#")
    }
    return places_without_id(targets, text)


def places_without_id(places: Iterable[str], text: str) -> set[str]:
    """Return the places that a page does not name itself, by an id."""
    ids = {identifier or other for identifier, other in _OWN.findall(text)}
    return {place for place in places if place and place not in ids and unquote(place) not in ids}


def links_beyond(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pages that a page links to and the places in them: ``guide.md#set-up``."""
    for match in _BEYOND.finditer(text):
        yield unquote(match[1]), match[2]
