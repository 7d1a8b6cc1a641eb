"""Text with inline markup: plain text and tags, in order."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

_SPACE = re.compile(r"[\t\n\f\r ]+")

Kind = Literal["open", "close", "alone"]


@dataclass(frozen=True, slots=True)
class Tag:
    """An inline tag or code, opaque to a translator: carried along, never changed.

    Two tags are equal if they have the same ``id`` and ``kind``; a pair shares its id.
    """

    id: str
    kind: Kind
    name: str = field(default="", compare=False)
    """Its name in the document: ``b``, ``g``, ``w:br``."""
    raw: str = field(default="", compare=False, repr=False)
    """Its spelling in the document, for display; empty where it is a formatting change of Word's."""
    text: str = field(default="", compare=False)
    """The plain text it stands for: a space for a line break."""
    key: str = field(default="", compare=False, repr=False)
    """The document's own id for it, the same in source and target; "" where it has none."""

    def renamed(self, name: str, kind: Kind) -> "Tag":
        """Return the same tag with another id and kind."""
        return Tag(name, kind, self.name, self.raw, self.text, self.key)

    def __str__(self) -> str:
        before, after = {"open": ("", ""), "close": ("/", ""), "alone": ("", "/")}[self.kind]
        return f"{{{before}{self.id}{after}}}"


Piece = str | Tag


@dataclass(frozen=True, slots=True)
class Markup:
    """Pieces of plain text and tags, in order; neighbouring texts are one piece and none is empty.

    >>> text = Markup.of("press ", Tag("1", "open"), "Enter", Tag("1", "close"), Tag("2", "alone"))
    >>> str(text), text.text
    ('press {1}Enter{/1}{2/}', 'press Enter')
    """

    pieces: tuple[Piece, ...] = ()

    @classmethod
    def of(cls, *pieces: Piece) -> "Markup":
        """Return the markup of these pieces."""
        return cls(tuple(_joined(pieces)))

    @property
    def text(self) -> str:
        """Plain text alone; a tag counts as the text it stands for."""
        return "".join(piece if isinstance(piece, str) else piece.text for piece in self.pieces)

    @property
    def tags(self) -> tuple[Tag, ...]:
        """Its tags, in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Tag))

    def strip(self) -> "Markup":
        """Return it without the white space at its two ends."""
        pieces = list(self.pieces)
        if pieces and isinstance(pieces[0], str):
            pieces[0] = pieces[0].lstrip()
        if pieces and isinstance(pieces[-1], str):
            pieces[-1] = pieces[-1].rstrip()
        return Markup.of(*pieces)

    def collapsed(self) -> "Markup":
        """Return it with white space of any length as one space."""
        return Markup.of(
            *(_SPACE.sub(" ", piece) if isinstance(piece, str) else piece for piece in self.pieces)
        )

    def __str__(self) -> str:
        return "".join(map(str, self.pieces))

    def __bool__(self) -> bool:
        return bool(self.pieces)


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces, neighbouring texts as one, without empty ones."""
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
            continue
        if text := "".join(texts):
            yield text
        texts.clear()
        yield piece
    if text := "".join(texts):
        yield text


def faults(source: Markup, translation: Markup) -> list[str]:
    """Return every reason why a translation's tags cannot replace the source's; none if they can.

    Each tag of the source must occur once, an opening tag before its closing one, and pairs must nest.
    """
    wanted = dict.fromkeys(source.tags, 0)
    found: list[str] = []
    opened: list[str] = []
    for tag in translation.tags:
        if tag not in wanted:
            found.append(f"{tag} is not in the source")
            continue
        wanted[tag] += 1
        if tag.kind == "open":
            opened.append(tag.id)
        elif tag.kind == "close" and Tag(tag.id, "open") in wanted:
            if opened and opened[-1] == tag.id:
                opened.pop()
            else:
                found.append(f"{tag} does not close the last pair that was opened")
    found += [f"{tag} is lost" for tag, count in wanted.items() if count == 0]
    found += [f"{tag} occurs {count} times" for tag, count in wanted.items() if count > 1]
    return found


def repaired(source: Markup, translation: Markup) -> Markup:
    """Return the translation with exactly the source's tags, nested.

    Unknown tags and repetitions are dropped. A pair of which a half is lost, or that crosses another,
    becomes an empty pair where its first half was; tags that are lost altogether are appended.
    """
    wanted = dict.fromkeys(source.tags)
    pairs = {tag.id for tag in wanted if tag.kind == "open" and Tag(tag.id, "close") in wanted}
    first = [tag for tag in dict.fromkeys(translation.tags) if tag in wanted]
    sound = _nested([tag for tag in first if tag.id in pairs and tag.kind != "alone"])
    left = dict.fromkeys(first)
    result: list[Piece] = []
    for piece in translation.pieces:
        if isinstance(piece, str):
            result.append(piece)
        elif piece in left:
            empty = piece.id in pairs and piece.kind != "alone" and piece.id not in sound
            for tag in (Tag(piece.id, "open"), Tag(piece.id, "close")) if empty else (piece,):
                result.append(tag)
                left.pop(tag, None)
                wanted.pop(tag)
    return Markup.of(*result, *wanted)


def _nested(tags: Sequence[Tag]) -> set[str]:
    """Return the ids of pairs that open, close and cross no pair that was opened before them."""
    sound: set[str] = set()
    opened: dict[str, None] = {}
    for tag in tags:
        if tag.kind == "open":
            opened[tag.id] = None
        elif tag.id in opened:
            # Pairs that were opened inside and are still open would cross this one.
            while opened.popitem()[0] != tag.id:
                pass
            sound.add(tag.id)
    return sound


def carried(source: Markup, text: str) -> Markup:
    """Return a plain translation with the source's tags at proportional places, between words.

    A fallback for a translator without alignment: a tag that comes after a third of the source's
    characters comes after about a third of the translation's. Tags keep their order.
    """
    total = sum(len(piece) for piece in source.pieces if isinstance(piece, str)) or 1
    begins = [0, *(found.start() for found in re.finditer(r"(?<=\s)\S", text)), len(text)]
    ends = [found.end() for found in re.finditer(r"\S+", text)] or [len(text)]
    result: list[Piece] = []
    seen = done = 0
    filled = False  # text in the source since the last tag: so there is some in the translation
    for piece in source.pieces:
        if isinstance(piece, str):
            seen += len(piece)
            filled = bool(piece.strip())
            continue
        goal = max(seen * len(text) / total, done + (piece.kind == "close" and filled))
        places = ends if piece.kind == "close" else begins
        after = bisect_left(places, goal)
        near = [place for place in places[max(after - 1, 0) : after + 1] if place >= done + filled] or [done]
        place = min(near, key=lambda place: abs(place - goal))
        result += [text[done:place], piece]
        done, filled = place, False
    return Markup.of(*result, text[done:])
