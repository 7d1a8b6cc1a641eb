"""References to section titles of reStructuredText, which still lead there after translation.

A title is the target of its own words (docutils, "Implicit hyperlink targets"). A translated one that
the page refers to gets an explicit target with the old words before it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from multihead.documents.markup import Markup, Tag
from multihead.documents.rst.lines import Block
from multihead.documents.rst.spelling import spelled
from multihead.documents.splice import Edit, Span

_TARGET = re.compile(r"^[ \t]*\.\.[ \t]+_(`?)((?:[^`:\\\n]|\\.|:(?!\s))+)\1:(?=\s|\Z)", re.MULTILINE)
_NAMED = re.compile(r"`([^`<>]+)`_\Z|([^`\s]+)_\Z|\s<([^<>]+)_>`_\Z|:ref:`([^`<>]+)`\Z|\s<([^<>]+)>`\Z")
_LONGEST = 500
"""Characters of a reference."""
_PLAIN = re.compile(r"`([^`<>]+)`_\Z|((?:\w[\w.:+-]*))_\Z")
"""A reference that shows the words of the title."""


class Titles:
    """The titles of a page that the page refers to.

    Args:
        text: the page.
        blocks: its blocks, each with its content as it was read.
    """

    def __init__(self, text: str, blocks: Sequence[tuple[Block, Markup]]) -> None:
        explicit = {_name(found[2]) for found in _TARGET.finditer(text)}
        counts = Counter(_name(source.text) for block, source in blocks if block.kind == "title")
        named = set(_names(tag for _, source in blocks for tag in source.tags))
        self._unique = {name for name in named - explicit if counts[name] == 1}

    def moved(self, old: Markup, new: Markup) -> bool:
        """Return whether a title's translation needs a target with the old words."""
        name = _name(old.text)
        return name in self._unique and name != _name(new.text)


def target(block: Block, old: Markup, newline: str) -> Edit[str]:
    """Return the insertion of a target before a title."""
    place = min([block.places[0], *(rule.start for rule in block.rules)])
    name = re.sub(r"([\\`])", r"\\\1", " ".join(old.text.split()))
    return Edit(Span(place, place), [f".. _`{name}`:{newline}{newline}"])


def shown(markup: Markup, titles: Mapping[str, Markup]) -> Markup:
    """Return a translation whose references to titles show the translated words.

    Args:
        markup: the translation of a paragraph.
        titles: translations of titles by their old words.
    """
    return Markup.of(
        *(_renamed(piece, titles) if isinstance(piece, Tag) else piece for piece in markup.pieces)
    )


def by_name(titles: Iterable[tuple[Markup, Markup]]) -> dict[str, Markup]:
    """Return translations of titles by their old words, as ``shown`` takes them."""
    return {_name(old.text): new for old, new in titles}


def _renamed(tag: Tag, titles: Mapping[str, Markup]) -> Tag:
    found = _PLAIN.match(tag.raw) if tag.kind == "alone" else None
    name = (found[1] or found[2]) if found else ""
    title = titles.get(_name(name))
    if title is None or any(sign in title.text for sign in "<>"):
        return tag
    raw = f"`{spelled(Markup.of(title.text), 'paragraph')} <{name}_>`__"
    return Tag(tag.id, tag.kind, tag.name, raw)


def _names(tags: Iterable[Tag]) -> Iterator[str]:
    for tag in tags:
        if len(tag.raw) <= _LONGEST and (found := _NAMED.search(tag.raw)):
            yield _name(next(filter(None, found.groups())))


def _name(text: str) -> str:
    """Return a name as docutils compares it."""
    return " ".join(text.casefold().split())
