"""References to section titles of reStructuredText, which still lead there after translation.

A title is the target of its own words (docutils, "Implicit hyperlink targets"). A translated one that
a page refers to gets an explicit target with the old words before it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from multihead_documents.markup import Markup, Tag
from multihead_documents.rst.labels import name, target_names
from multihead_documents.rst.lines import Block
from multihead_documents.rst.spelling import spell
from multihead_documents.splice import Edit, Span

_NAMED = re.compile(r"`([^`<>]+)`_\Z|([^`\s]+)_\Z|\s<([^<>]+)_>`_\Z|:ref:`([^`<>]+)`\Z|\s<([^<>]+)>`\Z")
_LONGEST = 500
"""Characters of a reference."""
_PLAIN = re.compile(r"`([^`<>]+)`_\Z|((?:\w[\w.:+-]*))_\Z")
"""A reference that shows the words of the title."""


class Titles:
    """The titles of a page, and the names by which pages refer to them.

    Args:
        text: the page.
        blocks: its blocks, each with its content as it was read.
    """

    def __init__(self, text: str, blocks: Sequence[tuple[Block, Markup]]) -> None:
        explicit = set(target_names(text))
        counts = Counter(name(source.text) for block, source in blocks if block.kind == "title")
        self._unnamed = {title for title, count in counts.items() if count == 1} - explicit
        self._named = set(_names(tag for _, source in blocks for tag in source.tags))

    def note_links(self, names: Iterable[str]) -> None:
        """Take note of names by which other pages refer to titles."""
        self._named |= set(map(name, names))

    def is_moved(self, old: Markup, new: Markup) -> bool:
        """Return whether a title's translation needs a target with the old words."""
        was = name(old.text)
        return was in self._unnamed and was in self._named and was != name(new.text)


def target(block: Block, old: Markup, newline: str) -> Edit[str]:
    """Return the insertion of a target before a title."""
    place = min([block.places[0], *(rule.start for rule in block.rules)])
    words = re.sub(r"([\\`])", r"\\\1", " ".join(old.text.split()))
    return Edit(Span(place, place), [f".. _`{words}`:{newline}{newline}"])


def show(markup: Markup, titles: Mapping[str, Markup]) -> Markup:
    """Return a translation whose references to titles show the translated words.

    Args:
        markup: the translation of a paragraph.
        titles: translations of titles by their old words.
    """
    pieces = (_rename(piece, titles) if isinstance(piece, Tag) else piece for piece in markup.pieces)
    return Markup.of(*pieces)


def by_name(titles: Iterable[tuple[Markup, Markup]]) -> dict[str, Markup]:
    """Return translations of titles by their old words, as ``show`` takes them."""
    return {name(old.text): new for old, new in titles}


def _rename(tag: Tag, titles: Mapping[str, Markup]) -> Tag:
    match = _PLAIN.match(tag.raw) if tag.kind == "alone" else None
    words = (match[1] or match[2]) if match else ""
    title = titles.get(name(words))
    if title is None or any(sign in title.text for sign in "<>"):
        return tag
    raw = f"`{spell(Markup.of(title.text), 'paragraph')} <{words}_>`__"
    return Tag(tag.id, tag.kind, tag.name, raw)


def _names(tags: Iterable[Tag]) -> Iterator[str]:
    for tag in tags:
        if len(tag.raw) <= _LONGEST and (match := _NAMED.search(tag.raw)):
            yield name(next(filter(None, match.groups())))
