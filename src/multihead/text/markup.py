"""Texts with opaque inline tags, which a translation carries over."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["open", "close", "alone"]


@dataclass(frozen=True, slots=True)
class Tag:
    """An inline tag. Tags are equal if ``id`` and ``kind`` are; the two of a pair share an id."""

    id: str
    kind: Kind
    text: str = field(default="", compare=False)
    """Its plain-text equivalent, such as a space for a line break."""
    raw: str = field(default="", compare=False, repr=False)
    """The characters of a tag that a text spells, such as ``<b>``."""


Piece = str | Tag


@dataclass(frozen=True, slots=True)
class Markup:
    """Pieces of text and tags, in order. Adjacent texts are merged; none is empty."""

    pieces: tuple[Piece, ...] = ()

    @classmethod
    def of(cls, *pieces: Piece) -> "Markup":
        """Return the markup of these pieces."""
        return cls(tuple(_merge(pieces)))

    @property
    def text(self) -> str:
        """Plain text, with the plain-text equivalents of tags."""
        return "".join(piece if isinstance(piece, str) else piece.text for piece in self.pieces)

    @property
    def tags(self) -> tuple[Tag, ...]:
        """Its tags, in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Tag))


def _merge(pieces: Iterable[Piece]) -> Iterator[Piece]:
    text = ""
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
            continue
        if text:
            yield text
        text = ""
        yield piece
    if text:
        yield text


def nest(markup: Markup) -> Markup:
    """Return markup, in which each tag occurs once, with its pairs nested.

    A pair that crosses another one becomes an empty pair at the place of its first tag.
    """
    tags = {tag: tag for tag in markup.tags}
    pairs = {tag.id for tag in tags if tag.kind == "open" and Tag(tag.id, "close") in tags}
    crossing = pairs - _nested_pairs(tag for tag in tags if tag.id in pairs and tag.kind != "alone")
    emptied: set[str] = set()
    pieces: list[Piece] = []
    for piece in markup.pieces:
        if isinstance(piece, str) or piece.kind == "alone" or piece.id not in crossing:
            pieces.append(piece)
        elif piece.id not in emptied:
            emptied.add(piece.id)
            pieces += [tags[Tag(piece.id, "open")], tags[Tag(piece.id, "close")]]
    return Markup.of(*pieces)


def _nested_pairs(tags: Iterable[Tag]) -> set[str]:
    """Return the ids of the pairs that are nested."""
    pairs: set[str] = set()
    opened: dict[str, None] = {}
    for tag in tags:
        if tag.kind == "open":
            opened[tag.id] = None
        elif tag.id in opened:
            while opened.popitem()[0] != tag.id:  # still open inside: they cross this pair
                pass
            pairs.add(tag.id)
    return pairs
