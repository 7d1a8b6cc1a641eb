"""Inline content with source spans: tag pairing and trimming."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import AnyStr, NamedTuple

from multihead_documents.errors import DocumentError
from multihead_documents.markup import Markup, Piece, Tag
from multihead_documents.splice import Span

MAX_ITEMS = 100_000
"""Limit of texts and tags in a paragraph."""


class Item(NamedTuple):
    """A text or tag, and its span in the document.

    Before pairing, a tag's id is the key of its pair, or "" if pairs are matched by name.
    """

    piece: Piece
    span: Span


class Inline(NamedTuple):
    """Trimmed content: ``core`` is translated, ``lead`` and ``trail`` are kept."""

    lead: Sequence[Item]
    core: Sequence[Item]
    trail: Sequence[Item]

    @property
    def markup(self) -> Markup:
        """The core as markup."""
        return Markup.of(*(item.piece for item in self.core)).strip()

    @property
    def span(self) -> Span:
        """The core's span."""
        return Span(self.core[0].span.start, self.core[-1].span.end)

    @property
    def tags(self) -> dict[Tag, Span]:
        """Span of each tag in the core."""
        return {item.piece: item.span for item in self.core if isinstance(item.piece, Tag)}


def pair_tags(items: Iterable[Item]) -> list[Item]:
    """Match opening and closing tags; number pairs and single tags from 1.

    A closing tag matches the last open tag with its ``id`` (or ``name``, without an id). Unmatched tags
    become ``alone``.
    """
    result = list(items)
    opened: list[int] = []
    names: dict[str, int] = {}
    partner: dict[int, int] = {}
    for place, item in enumerate(result):
        tag = item.piece
        if isinstance(tag, str) or tag.kind == "alone":
            continue
        name = tag.id or tag.name
        if tag.kind == "open":
            opened.append(place)
            names[name] = names.get(name, 0) + 1
        elif names.get(name):
            while True:
                other = opened.pop()
                found = _name(result[other])
                names[found] -= 1
                if found == name:
                    break
            partner[place], partner[other] = other, place
    count = 0
    for place, item in enumerate(result):
        tag = item.piece
        if isinstance(tag, str):
            continue
        if place in partner and tag.kind == "close":
            first = result[partner[place]].piece
            assert isinstance(first, Tag)
            new = tag.rename(first.id, tag.kind)
        else:
            count += 1
            new = tag.rename(str(count), tag.kind if place in partner else "alone")
        result[place] = Item(new, item.span)
    return result


def _name(item: Item) -> str:
    assert isinstance(item.piece, Tag)
    return item.piece.id or item.piece.name


def trim(
    items: Sequence[Item],
    place: str,
    loose: Callable[[Tag], bool] = lambda tag: False,
    size: Callable[[str], int] = len,
) -> Inline | None:
    """Strip white space, enclosing pairs and loose tags from both ends; None if no text is left.

    Args:
        items: paired content.
        place: ``file:line`` for errors.
        loose: predicate of the single tags that may be stripped.
        size: length of a text in units of spans.

    Raises:
        DocumentError: more than ``MAX_ITEMS`` items.
    """
    if len(items) > MAX_ITEMS:
        fact = f"a paragraph of more than {MAX_ITEMS:,} texts and tags"
        raise DocumentError(fact, place=place, remedy="Split it.")
    whole = list(items)
    start, end = 0, len(whole)
    closing = {_id(item): number for number, item in enumerate(whole) if _kind(item) == "close"}
    while start < end:
        first = whole[start].piece
        if _dispensable(whole[start], loose):
            start += 1
        elif _dispensable(whole[end - 1], loose):
            end -= 1
        elif isinstance(first, Tag) and first.kind == "open" and closing[first.id] == start + 1:
            start += 2  # a pair around nothing, such as an anchor
        elif whole[end - 2].piece == Tag(_id(whole[end - 1]), "open") and _kind(whole[end - 1]) == "close":
            end -= 2
        elif isinstance(first, Tag) and first.kind == "open" and closing[first.id] == end - 1:
            start, end = start + 1, end - 1
        else:
            break
    if not any(isinstance(item.piece, str) and item.piece.strip() for item in whole[start:end]):
        return None
    lead, core, trail = whole[:start], whole[start:end], whole[end:]
    before, core[0] = _split(core[0], True, size)
    after, core[-1] = _split(core[-1], False, size)
    ids: dict[tuple[str, bool], str] = {}
    core, before, after = (_number(part, ids) for part in (core, [*lead, *before], [*after, *trail]))
    return Inline(before, core, after)


def _number(items: Sequence[Item], ids: dict[tuple[str, bool], str]) -> list[Item]:
    """Renumber the tags in order, from 1."""
    result: list[Item] = []
    for piece, span in items:
        if isinstance(piece, Tag):
            name = piece.id, piece.kind == "alone"
            piece = piece.rename(ids.setdefault(name, str(len(ids) + 1)), piece.kind)
        result.append(Item(piece, span))
    return result


def _split(item: Item, at_start: bool, size: Callable[[str], int]) -> tuple[list[Item], Item]:
    """Split a text into the white space at its start or end, and the rest."""
    text, (start, end) = item
    if isinstance(text, Tag) or size(text) != end - start:
        return [], item  # escape with entities, so that no span belongs to a part of it
    rest = text.lstrip() if at_start else text.rstrip()
    if len(rest) == len(text):
        return [], item
    if at_start:
        space, middle = text[: -len(rest)], end - size(rest)
        return [Item(space, Span(start, middle))], Item(rest, Span(middle, end))
    space, middle = text[len(rest) :], start + size(rest)
    return [Item(space, Span(middle, end))], Item(rest, Span(start, middle))


def parts(
    translation: Markup, tags: Mapping[Tag, Span], escape: Callable[[str], AnyStr]
) -> list[AnyStr | Span]:
    """Return the replacement of a segment: escaped texts, and the spans of tags."""
    return [escape(piece) if isinstance(piece, str) else tags[piece] for piece in translation.pieces]


def _id(item: Item) -> str:
    return "" if isinstance(item.piece, str) else item.piece.id


def _kind(item: Item) -> str:
    return "" if isinstance(item.piece, str) else item.piece.kind


def _dispensable(item: Item, loose: Callable[[Tag], bool]) -> bool:
    if isinstance(item.piece, str):
        return not item.piece.strip()
    return item.piece.kind == "alone" and loose(item.piece)
