"""Layout of a text for translation: sentences without tags, and the gaps between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import regex

from multihead.text.markup import Kind, Markup, Piece, Tag, nest
from multihead.text.placeholders import FoundTag, find_tags, partners
from multihead.text.segmentation import adapt, split

OWN = "text:"
"""Prefix of the ids of tags that were text, such as ``<b>`` in a JSON string."""
_ORDINAL = (
    "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Advent|FC|Klasse|Liga|Platz"
    "|Stock|Weltkrieg|Jahrhundert|Runde|Bundesliga"
)
_ITEM = regex.compile(
    r"(?:[-*+•‣◦▪·–—]|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,5})\)"
    rf"|\d{{1,3}}\.(?![ \t](?:{_ORDINAL})\b))[ \t]+(?=\S)"
)
"""The mark of an item in a list, or of a speaker; "1. Mai" is a date."""
_SIGN = regex.compile(
    r"(?![\p{Sc}°℃℉№\u3200-\u33ff])(?:[\p{So}\p{Emoji_Presentation}→←↑↓↔⇒⇔⇐]"
    r"(?:\p{Mn}|\u200d|\p{Emoji_Modifier}|\p{So})*+|(?<=\s)/(?=\s))"
)
"""A symbol or emoji, but for those of units and money."""
_SIGNS_BEFORE = regex.compile(rf"(?:(?:{_SIGN.pattern})\s*+)++")
_SIGNS_AFTER = regex.compile(rf"(?:\s*+(?:{_SIGN.pattern}))++\Z")


class Span(NamedTuple):
    """A place in a text, ``text[start:end]``."""

    start: int
    end: int


class PlacedTag(NamedTuple):
    """A tag in a sentence.

    Attributes:
        offset: characters of the sentence before it.
        tag: the tag.
        width: characters of the sentence in place of the tag itself, such as the space of a line break.
    """

    offset: int
    tag: Tag
    width: int = 0


@dataclass(frozen=True)
class SentenceUnit:
    """A sentence to translate.

    Attributes:
        text: the sentence without its tags.
        tags: the tags inside, in order.
    """

    text: str
    tags: tuple[PlacedTag, ...] = ()


@dataclass(frozen=True)
class TextLayout:
    """A text as sentences and gaps; ``render`` of the sentences themselves gives the text.

    Attributes:
        source: the text, in which spelled tags are tags.
        units: its sentences.
        gaps: white space and tags before, between and after the units.
    """

    source: Markup
    units: tuple[SentenceUnit, ...]
    gaps: tuple[tuple[Piece, ...], ...]

    def render(self, translations: Sequence[Markup], language: str = "") -> Markup:
        """Return the text with its units replaced by translations; tags are nested as in the source.

        Args:
            translations: translations of the units, with their tags.
            language: code of their language, which decides the space between sentences.
        """
        pieces: list[Piece] = [*self.gaps[0]]
        for number, markup in enumerate(translations, start=1):
            gap = self.gaps[number]
            pieces += markup.pieces
            pieces += gap if number == len(self.units) else _adapt(gap, language)
        # Tags are nested in each unit; a pair over several units may still cross another pair.
        return restore(nest(Markup.of(*pieces)))


def laid_out(text: Markup, language: str = "", *, sentences: bool = True) -> TextLayout:
    """Return the layout of a text.

    Args:
        text: plain text with tags; tags that its plain parts spell become tags.
        language: code of its language.
        sentences: whether to split lines into sentences.
    """
    source = with_tags(text)
    plain, tags = _flatten(source)
    spans = _sentences(plain, language) if sentences else _lines(plain)
    spans = [core for span in spans if (core := _core(plain, span))]
    tags = sorted([*tags, *_signs(plain, spans)], key=lambda placed: placed.offset)
    inner, outer = _assign(tags, spans)
    units = [_unit(plain, span, inside) for span, inside in zip(spans, inner, strict=True)]
    edges = [0, *(edge for span in spans for edge in span), len(plain)]
    gaps = [
        _gap(plain, start, end, inside)
        for start, end, inside in zip(edges[::2], edges[1::2], outer, strict=True)
    ]
    return TextLayout(source, tuple(units), tuple(gaps))


def with_tags(text: Markup) -> Markup:
    """Return markup in which tags that its plain parts spell are tags too; see ``restore``."""
    if not any(isinstance(piece, str) and "<" in piece for piece in text.pieces):
        return text
    pieces: list[Piece | _SpelledTag] = []
    for piece in text.pieces:
        pieces += _spelled_tags(piece) if isinstance(piece, str) else [piece]
    spelled = [piece for piece in pieces if isinstance(piece, _SpelledTag)]
    tags = iter(_pair(spelled))
    markup = Markup.of(*(next(tags) if isinstance(piece, _SpelledTag) else piece for piece in pieces))
    # A pair of the text around half a pair of the document cannot be kept together.
    return markup if _nests(markup) else text


def restore(text: Markup) -> Markup:
    """Turn tags that were text back into text."""
    return Markup.of(
        *(
            piece.raw if isinstance(piece, Tag) and piece.id.startswith(OWN) else piece
            for piece in text.pieces
        )
    )


class _SpelledTag(NamedTuple):
    tag: FoundTag
    text: str
    """Its plain-text equivalent."""


def _spelled_tags(text: str) -> list[Piece | _SpelledTag]:
    """Split a plain text into texts and the tags that it spells."""
    pieces: list[Piece | _SpelledTag] = []
    end = 0
    for tag in find_tags(text):
        beside = text[max(0, tag.start - 1) : tag.start], text[tag.end : tag.end + 1]
        glued = tag.name == "br" and all(letter and not letter.isspace() for letter in beside)
        pieces += [text[end : tag.start], _SpelledTag(tag, " " if glued else "")]
        end = tag.end
    return [*pieces, text[end:]]


def _pair(spelled: Sequence[_SpelledTag]) -> list[Tag]:
    """Return spelled tags with ids by pair; tags without a partner are single."""
    closing = partners((tag.name, tag.closing) if not tag.alone else None for tag, _ in spelled)
    opening = {end: start for start, end in closing.items()}
    tags: list[Tag] = []
    for number, (tag, text) in enumerate(spelled):
        kind: Kind = "open" if number in closing else "close" if number in opening else "alone"
        name = f"{OWN}{opening.get(number, number)}"
        tags.append(Tag(name, kind, text, tag.text))
    return tags


def _nests(text: Markup) -> bool:
    opened: list[str] = []
    for tag in text.tags:
        if tag.kind == "open":
            opened.append(tag.id)
        elif tag.kind == "close" and (not opened or opened.pop() != tag.id):
            return False
    return not opened


def _flatten(text: Markup) -> tuple[str, list[PlacedTag]]:
    """Return plain text, in which some tags have an equivalent, and the tags with their offsets."""
    parts: list[str] = []
    tags: list[PlacedTag] = []
    size = 0
    for piece in text.pieces:
        # Letters in place of a tag would be translated, and so appear beside it.
        stand_in = "" if isinstance(piece, str) or piece.text.strip() else piece.text
        if isinstance(piece, Tag):
            tags.append(PlacedTag(size, piece, len(stand_in)))
        parts.append(piece if isinstance(piece, str) else stand_in)
        size += len(parts[-1])
    return "".join(parts), tags


def _sentences(plain: str, language: str) -> list[Span]:
    segmentation = split(plain, language)
    spans, place = [], 0
    for space, sentence in zip(segmentation.spaces, segmentation.sentences, strict=False):
        start = place + len(space)
        place = start + len(sentence)
        spans.append(Span(start, place))
    return spans


def _lines(plain: str) -> list[Span]:
    spans, place = [], 0
    for line in plain.split("\n"):
        if text := line.strip():
            start = place + line.index(text)
            spans.append(Span(start, start + len(text)))
        place += len(line) + 1
    return spans


def _core(plain: str, span: Span) -> Span | None:
    """Return a sentence without a list item's mark and signs at its ends; None if nothing is left."""
    start, end = span
    if not plain[plain.rfind("\n", 0, start) + 1 : start].strip():
        mark = _ITEM.match(plain, start, end)
        start = mark.end() if mark else start
    first, last = _SIGNS_BEFORE.match(plain, start, end), _SIGNS_AFTER.search(plain, start, end)
    start = first.end() if first else start
    end = last.start() if last else end
    return Span(start, end) if start < end else None


def _signs(plain: str, spans: Sequence[Span]) -> list[PlacedTag]:
    """Return the signs inside sentences, which no vocabulary has for sure, as tags."""
    signs = [match for span in spans for match in _SIGN.finditer(plain, *span)]
    return [
        PlacedTag(match.start(), Tag(f"{OWN}sign {match.start()}", "alone", "", match[0]), len(match[0]))
        for match in signs
    ]


def _unit(plain: str, span: Span, tags: Sequence[PlacedTag]) -> SentenceUnit:
    """Return a sentence with its tags; signs are tags instead of text."""
    parts: list[str] = []
    placed: list[PlacedTag] = []
    end, removed = span.start, 0
    for offset, tag, width in tags:
        is_sign = tag.id.startswith(f"{OWN}sign ")
        placed.append(PlacedTag(max(0, offset - span.start - removed), tag, 0 if is_sign else width))
        if is_sign:
            parts.append(plain[end:offset])
            end = offset + width
            removed += width
    return SentenceUnit("".join([*parts, plain[end : span.end]]), tuple(placed))


def _assign(
    tags: Sequence[PlacedTag], spans: Sequence[Span]
) -> tuple[list[list[PlacedTag]], list[list[PlacedTag]]]:
    """Return the tags inside each sentence, and the tags in each gap before, between and after them."""
    partners: dict[str, list[PlacedTag]] = {}
    for placed in tags:
        if placed.tag.kind != "alone":
            partners.setdefault(placed.tag.id, []).append(placed)
    inner: list[list[PlacedTag]] = [[] for _ in spans]
    outer: list[list[PlacedTag]] = [[] for _ in range(len(spans) + 1)]
    number = 0
    for placed in tags:
        while number < len(spans) and spans[number].end < placed.offset:
            number += 1
        owners = [
            at for at in (number, number + 1) if at < len(spans) and _belongs(placed, spans[at], partners)
        ]
        if owners:
            inner[owners[0]].append(placed)
        else:
            before = number < len(spans) and placed.offset >= spans[number].end
            outer[number + before].append(placed)
    return inner, outer


def _belongs(placed: PlacedTag, span: Span, partners: dict[str, list[PlacedTag]]) -> bool:
    start, end = span
    if start < placed.offset < end:
        return True
    if placed.tag.kind == "alone" or not start <= placed.offset <= end:
        return False
    # A tag at the edge stays with its partner inside; a pair around the whole sentence stays outside.
    others = [other for other in partners[placed.tag.id] if other is not placed]
    return any(start < other.offset < end for other in others)


def _gap(plain: str, start: int, end: int, tags: Sequence[PlacedTag]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for offset, tag, width in tags:
        place = min(max(offset, start), end)
        pieces += [plain[start:place], tag]
        start = min(place + width, end)
    return Markup.of(*pieces, plain[start:end]).pieces


def _adapt(gap: Sequence[Piece], language: str) -> list[Piece]:
    """Return a gap between two sentences with the white space of a language."""
    space = "".join(piece for piece in gap if isinstance(piece, str))
    adapted = adapt(space, language)
    breaks = any(isinstance(piece, Tag) and piece.text.isspace() for piece in gap)
    if adapted == space or breaks:
        return list(gap)
    tags: list[Piece] = [piece for piece in gap if isinstance(piece, Tag)]
    closing = [tag for tag in tags if isinstance(tag, Tag) and tag.kind == "close"]
    return [*closing, adapted, *(tag for tag in tags if tag not in closing)]
