"""Markdown (.md, .markdown): CommonMark with tables, strikethrough, tasks, footnotes and front matter."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from multihead_documents.inline import Inline, pair_tags, trim
from multihead_documents.markdown import anchors, links
from multihead_documents.markdown.blocks import Block, blocks
from multihead_documents.markdown.front_matter import entries
from multihead_documents.markdown.inline import inline_items
from multihead_documents.markdown.kept import PLACEHOLDER
from multihead_documents.markup import Markup, Piece, Tag
from multihead_documents.reading import Text
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span, splice
from multihead_documents.text_document import TextDocument

_SPECIAL = re.compile(r"[\\`*_\[\]<>&#|~{]|(?<!\w)\$|\$(?!\s)|:(?=[\w+-]+:)|!\Z")
_CONTINUED = re.compile(r"\r?\n[ \t>]*(?=[^\s>])")
"""A line break inside a formula, and the marks of the blocks that it is in."""
_START = re.compile(r"\A[-+=:!?/]")
_NUMBER = re.compile(r"\A(\d{1,9})([.)])")
_HTML = {"em": "em", "strong": "strong", "s": "del", "hardbreak": "br"}
ESCAPE_LEVELS = (0, 1, 2)
"""Escape levels: plain text; escaped text; escaped text with emphasis and line breaks as HTML."""
_ATTEMPTS = 6
"""Times that a page is read again to see whether its translations must be escaped."""
_LOOSE = frozenset(
    ("alert", "mark", "hardbreak", "kept_attributes", "kept_code", "kept_emoji", "kept_abbreviation")
)


class Markdown(TextDocument):
    """A Markdown file. Its segments are paragraphs, headings and table cells, each written on one line.

    Code, HTML blocks, link targets, footnote marks and front matter but its titles and descriptions are kept.
    """

    kind = "markdown"

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path, text)
        self._front = list(entries(text.text))
        for entry in self._front:
            place = text.place(entry.span.start)
            self._add(Segment(len(self.segments), Markup.of(entry.text.strip()), place, context=entry.key))
        self._contents: list[tuple[Block, Inline]] = []
        self._known: dict[str, Any] = {}
        for block in blocks(text.text, self._known):
            place = text.place(block.places[0])
            if block.kind == "note":
                self.notes.append((place, block.content))
                continue
            items = inline_items(block)
            inline = trim(pair_tags(items), place, loose=lambda tag: tag.name in _LOOSE) if items else None
            if inline:
                self._contents.append((block, inline))
                self._add(Segment(len(self.segments), inline.markup.collapsed(), place))
        headings = zip(self._contents, self.segments[len(self._front) :], strict=True)
        self._headings = anchors.names(
            (segment.number, segment.source)
            for (block, _), segment in headings
            if block.kind in ("heading", "underlined")
        )
        self.links = links.links_within(text.text, self._known.get("references", {}))
        """Places of the page that links name; those of a whole notebook, if it is a cell."""

    def note_links(self, places: Iterable[str]) -> None:
        """Take note of headings that other documents link to."""
        self.links |= links.places_without_id(places, self._text.text)

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        first = len(self._front)
        front = [
            Edit(self._front[number].span, [self._front[number].spell(new.target.text)])
            for number, new in translations.items()
            if number < first
        ]
        targets = {
            number: _outside(new.target.collapsed())
            for number, new in translations.items()
            if number >= first
        }
        levels = {number: self._level(number, target) for number, target in targets.items()}
        texts = [_plain(targets.get(segment.number, segment.source)) for segment in self.segments[first:]]
        edits: list[Edit[str]] = []
        for attempt in range(_ATTEMPTS):
            edits = list(self._edits_at(targets, levels))
            # Parsed alone, each translation is right; in context it may start a table.
            text = splice(self._text.text, edits)
            again = Markdown(self.path, Text(self._text.path, text, self._text.encoding))
            new_texts = [_plain(segment.source) for segment in again.segments[first:]]
            wrong = [first + place for place in _differing(texts, new_texts)]
            low = [number for number in wrong if levels.get(number, ESCAPE_LEVELS[-1]) < ESCAPE_LEVELS[-1]]
            if len(texts) != len(new_texts) and (not low or attempt > _ATTEMPTS // 2):
                low = [number for number, level in levels.items() if level < ESCAPE_LEVELS[-1]]
            if not low:
                break
            levels |= {number: levels[number] + 1 for number in low}
        yield from front
        yield from edits

    def _edits_at(self, targets: Mapping[int, Markup], levels: Mapping[int, int]) -> Iterator[Edit[str]]:
        places = anchors.by_name(self.links)
        for number, target in targets.items():
            block, inline = self._contents[number - len(self._front)]
            called = places.get(self._headings[number], ()) if number in self._headings else ()
            yield from anchors.anchor(block, self.segments[number].source, target, called)
            yield Edit(inline.span, self._parts(block, inline, target, levels[number]))

    def _parts(self, block: Block, inline: Inline, target: Markup, level: int) -> list[str | Span]:
        """Return the pieces of a translation at an escape level."""
        spans = inline.tags
        result: list[str | Span] = []
        links: list[int] = []
        before = ""
        for number, piece in enumerate(target.pieces):
            if isinstance(piece, str):
                text = _escape(piece, number == 0) if level else piece
                result.append(text.replace("|", "\\|") if block.kind == "cell" and not level else text)
                before = ""
                continue
            if level == 2 and before.endswith("`") and piece.raw.startswith("`"):
                result.append("<!-- -->")  # adjacent code spans would merge
            before = piece.raw
            if piece.name in ("link", "image") and piece.kind == "open":
                links.append(len(result))
            ends = piece.name in ("link", "image") and piece.kind == "close"
            label = result[links.pop() + 1 :] if ends else []
            if level == 2 and piece.name in _HTML:
                result.append(f"<{'/' * (piece.kind == 'close')}{_HTML[piece.name]}>")
            elif piece.key and label != [piece.key]:
                result.append(f"][{piece.key}]")  # a shortcut reference: its label names the target
            else:
                result.append(spans[piece])
        return result

    def _level(self, number: int, target: Markup) -> int:
        """Return the lowest escape level at which a translation, parsed alone, is unchanged."""
        block, inline = self._contents[number - len(self._front)]
        shapes = [_shape(piece) for piece in target.pieces]
        for level in ESCAPE_LEVELS:
            text = "".join(
                part if isinstance(part, str) else _CONTINUED.sub("\n", self._text.text[slice(*part)])
                for part in self._parts(block, inline, target, level)
            )
            if block.kind == "cell":
                text = text.replace("\\|", "|")
            parsed = list(blocks(f"# {text}" if block.kind == "heading" else text, dict(self._known)))
            items = inline_items(parsed[0]) if len(parsed) == 1 else None
            if (
                items
                and [_shape(p) for p in Markup.of(*(i.piece for i in pair_tags(items))).collapsed().pieces]
                == shapes
            ):
                return level
        return ESCAPE_LEVELS[-1]


def _differing(texts: Sequence[str], again: Sequence[str]) -> list[int]:
    """Return the places of texts that are read again differently; if some are lost, around the first."""
    places = [place for place, pair in enumerate(zip(texts, again, strict=False)) if pair[0] != pair[1]]
    if len(texts) == len(again):
        return places
    first = places[0] if places else min(len(texts), len(again))
    return [place for place in (first - 1, first, first + 1) if 0 <= place < len(texts)]


def _outside(markup: Markup) -> Markup:
    """Move spaces at the ends of emphasis out of it: CommonMark sees no emphasis around them."""
    result: list[Piece] = []
    for piece in markup.pieces:
        if isinstance(piece, str):
            place = len(result)
            while place and _is_emphasis(result[place - 1], "open"):
                place -= 1
            if place < len(result):
                result.insert(place, piece[: len(piece) - len(piece.lstrip(" "))])
                piece = piece.lstrip(" ")
            result.append(piece)
        elif _is_emphasis(piece, "close") and result and isinstance(last := result[-1], str):
            result[-1] = last.rstrip(" ")
            result += [piece, last[len(last.rstrip(" ")) :]]
        else:
            result.append(piece)
    return Markup.of(*result)


def _is_emphasis(piece: Piece, kind: str) -> bool:
    return isinstance(piece, Tag) and piece.kind == kind and piece.name in ("em", "strong", "s")


def _shape(piece: Piece) -> object:
    return piece if isinstance(piece, str) else (piece.kind, piece.name)


def _plain(markup: Markup) -> str:
    return "".join(piece for piece in markup.pieces if isinstance(piece, str)).strip()


def _escape_sign(match: re.Match[str]) -> str:
    before_bracket = match[0] == "\\" and match.string[match.end() : match.end() + 1] in tuple("()[]")
    return "&#92;" if before_bracket else f"\\{match[0]}"  # two backslashes would begin a formula


def _escape(text: str, first: bool) -> str:
    """Backslash-escape all characters that may be markup, but not those of placeholders."""
    parts = re.split(f"({PLACEHOLDER.pattern})", text)
    text = "".join(part if odd % 2 else _SPECIAL.sub(_escape_sign, part) for odd, part in enumerate(parts))
    return _NUMBER.sub(r"\1\\\2", _START.sub(r"\\\g<0>", text)) if first else text
