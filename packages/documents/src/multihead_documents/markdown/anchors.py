"""Anchors of headings: links within a page still lead to them after the headings are translated.

GitHub, Jupyter and generators of sites name a heading after its words, each a little differently. A
translated heading that a link names gets an anchor of that name, ``<a id="name"></a>``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from multihead_documents.markdown.blocks import Block
from multihead_documents.markup import Markup
from multihead_documents.splice import Edit, Span

_UNFIT = re.compile(r"[\"'<>\s]")
"""Signs that an attribute cannot hold, or an address not."""


def names(headings: Iterable[tuple[int, Markup]]) -> dict[int, str]:
    """Return the name of each heading, by its number; equal ones are counted, as GitHub does."""
    seen: Counter[str] = Counter()
    result = {}
    for number, source in headings:
        name = _name(_words(source))
        result[number] = f"{name}-{seen[name]}" if seen[name] else name
        seen[name] += 1
    return result


def by_name(places: Iterable[str]) -> dict[str, list[str]]:
    """Return the places that a page links to, each as it is spelled, by the name of their heading."""
    anchors: dict[str, list[str]] = {}
    for place in sorted({unquote(place) for place in places}):
        if not _UNFIT.search(place):
            anchors.setdefault(_name(place), []).append(place)
    return anchors


def anchor(block: Block, old: Markup, new: Markup, places: Sequence[str]) -> Iterator[Edit[str]]:
    """Yield the anchors that a heading needs.

    Args:
        block: the heading.
        old: its words.
        new: its translation.
        places: what links call it.
    """
    if places and _name(_words(new)) != _name(_words(old)):
        start = block.places[0]
        yield Edit(Span(start, start), [f'<a id="{place}"></a>' for place in places])


def _words(markup: Markup) -> str:
    """Return the text of a heading with its code, without the alternative texts of images."""
    words: list[str] = []
    image = False
    for piece in markup.pieces:
        if isinstance(piece, str):
            words.append("" if image else piece)
        elif piece.name == "image":
            image = piece.kind == "open"
        elif piece.kind == "alone":
            words.append(piece.raw)
    return "".join(words)


def _name(words: str) -> str:
    """Return words as one name in whatever way a generator spells them."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", words.casefold())).strip("-")
