"""Inline markup: text pieces and opaque tags, in order."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

_SPACE = re.compile(r"[\t\n\f\r ]+")

Kind = Literal["open", "close", "alone"]


@dataclass(frozen=True, slots=True)
class Tag:
    """An inline tag or code, opaque to a translator.

    Tags are equal if ``id`` and ``kind`` are. The two tags of a pair share an id.
    """

    id: str
    kind: Kind
    name: str = field(default="", compare=False)
    """Its name in the document: ``b``, ``g``, ``w:br``."""
    raw: str = field(default="", compare=False, repr=False)
    """Its source, for display; empty for formatting in Word."""
    text: str = field(default="", compare=False)
    """Its plain-text equivalent, such as a space for a line break."""
    key: str = field(default="", compare=False, repr=False)
    """Its id in the document, equal in source and target; "" without one."""

    def rename(self, name: str, kind: Kind) -> "Tag":
        """Return the same tag with another id and kind."""
        return Tag(name, kind, self.name, self.raw, self.text, self.key)

    def __str__(self) -> str:
        before, after = {"open": ("", ""), "close": ("/", ""), "alone": ("", "/")}[self.kind]
        return f"{{{before}{self.id}{after}}}"


Piece = str | Tag


@dataclass(frozen=True, slots=True)
class Markup:
    """Pieces of text and tags, in order. Adjacent texts are merged; none is empty.

    >>> text = Markup.of("press ", Tag("1", "open"), "Enter", Tag("1", "close"), Tag("2", "alone"))
    >>> str(text), text.text
    ('press {1}Enter{/1}{2/}', 'press Enter')
    """

    pieces: tuple[Piece, ...] = ()

    @classmethod
    def of(cls, *pieces: Piece) -> "Markup":
        """Return the markup of these pieces."""
        return cls(tuple(_join(pieces)))

    @property
    def text(self) -> str:
        """Plain text, with the plain-text equivalents of tags."""
        return "".join(piece if isinstance(piece, str) else piece.text for piece in self.pieces)

    @property
    def tags(self) -> tuple[Tag, ...]:
        """Its tags, in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Tag))

    def strip(self) -> "Markup":
        """Return it without leading and trailing white space."""
        pieces = list(self.pieces)
        if pieces and isinstance(pieces[0], str):
            pieces[0] = pieces[0].lstrip()
        if pieces and isinstance(pieces[-1], str):
            pieces[-1] = pieces[-1].rstrip()
        return Markup.of(*pieces)

    def collapsed(self) -> "Markup":
        """Return it with runs of white space collapsed to single spaces."""
        return Markup.of(
            *(_SPACE.sub(" ", piece) if isinstance(piece, str) else piece for piece in self.pieces)
        )

    def __str__(self) -> str:
        return "".join(map(str, self.pieces))

    def __bool__(self) -> bool:
        return bool(self.pieces)


def _join(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Merge adjacent texts; drop empty ones."""
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
    """Return the faults of a translation's tags; empty if it can be written.

    Each tag of the source must occur once, and pairs must be nested.
    """
    counts = dict.fromkeys(source.tags, 0)
    problems: list[str] = []
    opened: list[str] = []
    for tag in translation.tags:
        if tag not in counts:
            problems.append(f"{tag} is not in the source")
            continue
        counts[tag] += 1
        if tag.kind == "open":
            opened.append(tag.id)
        elif tag.kind == "close" and Tag(tag.id, "open") in counts:
            if opened and opened[-1] == tag.id:
                opened.pop()
            else:
                problems.append(f"{tag} does not close the last pair that was opened")
    problems += [f"{tag} is lost" for tag, count in counts.items() if count == 0]
    problems += [f"{tag} occurs {count} times" for tag, count in counts.items() if count > 1]
    return problems


def repair(source: Markup, translation: Markup) -> Markup:
    """Repair a translation so that it has each of the source's tags once, properly nested.

    Unknown and duplicate tags are dropped. An incomplete or crossing pair becomes an empty pair at the
    position of its first tag. Missing tags are appended.
    """
    missing = dict.fromkeys(source.tags)
    pairs = {tag.id for tag in missing if tag.kind == "open" and Tag(tag.id, "close") in missing}
    first = [tag for tag in dict.fromkeys(translation.tags) if tag in missing]
    sound = _nest([tag for tag in first if tag.id in pairs and tag.kind != "alone"])
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
                missing.pop(tag)
    return Markup.of(*result, *missing)


def _nest(tags: Sequence[Tag]) -> set[str]:
    """Return the ids of complete, properly nested pairs."""
    sound: set[str] = set()
    opened: dict[str, None] = {}
    for tag in tags:
        if tag.kind == "open":
            opened[tag.id] = None
        elif tag.id in opened:
            # Pairs that are still open inside would cross this one.
            while opened.popitem()[0] != tag.id:
                pass
            sound.add(tag.id)
    return sound


def carry(source: Markup, text: str) -> Markup:
    """Insert the source's tags into a plain translation, at proportional word boundaries.

    A fallback without word alignment: a tag after a third of the source's characters is inserted after about
    a third of the translation's. The order of tags is kept.
    """
    total = sum(len(piece) for piece in source.pieces if isinstance(piece, str)) or 1
    begins = [0, *(match.start() for match in re.finditer(r"(?<=\s)\S", text)), len(text)]
    ends = [match.end() for match in re.finditer(r"\S+", text)] or [len(text)]
    result: list[Piece] = []
    seen = done = 0
    filled = False  # source text since the last tag: some text must precede the next one
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
