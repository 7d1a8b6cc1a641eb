"""Conversion of a paragraph with runs to markup, and of a translation to runs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from multihead_documents.inline import Inline, Item, pair_tags, trim
from multihead_documents.markup import Kind, Markup, Tag
from multihead_documents.office.runs import Entry, Fragment, Paragraph
from multihead_documents.splice import Span
from multihead_documents.xml.events import escape

ContentKind = TypeVar("ContentKind", bound="Content")
FORMAT = "format"
"""Name of the tag pair around text whose formatting differs from the paragraph's."""

_LOOSE = frozenset(
    (
        *("bookmarkStart", "bookmarkEnd", "commentRangeStart", "commentRangeEnd", "commentReference"),
        *("permStart", "permEnd", "footnoteReference", "footnoteRef", "endnoteReference", "endnoteRef"),
        *("br", "tab", "pict", "drawing", "object", "AlternateContent", "endParaRPr"),
    )
)
"""Codes that are left out of a segment at its ends."""
MAX_FIELD_DEPTH = 30
"""Nesting limit of fields; deeper ones are kept as separate codes."""
_SPACES = frozenset(("br", "cr", "tab", "ptab"))


@dataclass
class Content:
    """The content of a paragraph that has text."""

    span: Span
    inline: Inline
    prefix: bytes
    base: bytes
    """Run properties of most of its text."""
    entries: Mapping[Tag, Entry]
    """Source of each tag."""

    def parts(self, translation: Markup) -> list[bytes | Span]:
        """Return the runs of a translation, with the paragraph's lead and trail."""
        pieces = [
            *(item.piece for item in self.inline.lead),
            *translation.pieces,
            *(item.piece for item in self.inline.trail),
        ]
        formats = [self.base]
        fragments: list[Fragment] = []
        for piece in pieces:
            if isinstance(piece, str):
                fragments.append(Fragment(self._escape(piece), formats[-1]))
                continue
            entry = self.entries[piece]
            if piece.kind == "open":
                formats.append(entry.base)
            elif piece.kind == "close" and len(formats) > 1:
                formats.pop()
            fragments += entry.fragments
        return self._runs(fragments)

    def _escape(self, text: str) -> bytes:
        return escape(text.replace("\n", " ").replace("\t", " ")).encode()

    def _attributes(self, text: bytes) -> bytes:
        """Return the attributes of the element that holds this text."""
        return b' xml:space="preserve"'

    def _runs(self, fragments: Iterable[Fragment]) -> list[bytes | Span]:
        """Return the fragments, texts that look alike in one run."""
        result: list[bytes | Span] = []
        for properties, group in groupby(fragments, key=lambda fragment: fragment.properties):
            for is_span, contents in groupby((entry.content for entry in group), key=_is_span):
                if is_span:
                    for content in contents:
                        result += self._run(content, properties)
                elif text := b"".join(content for content in contents if isinstance(content, bytes)):
                    result += self._run(text, properties)
        return result

    def _run(self, content: Span | str | bytes, properties: bytes | None) -> Iterator[bytes | Span]:
        """Yield a text or code, in a run if it needs one."""
        w = self.prefix
        if properties is not None:
            yield b"<" + w + b"r>" + properties
        if isinstance(content, Span):
            yield content
        elif isinstance(content, bytes):
            yield b"<" + w + b"t" + self._attributes(content) + b">" + content + b"</" + w + b"t>"
        if properties is not None:
            yield b"</" + w + b"r>"


def _is_span(content: Span | str | bytes) -> bool:
    return isinstance(content, Span)


def content_of(paragraph: Paragraph, end: int, place: str, kind: type[ContentKind]) -> ContentKind | None:
    """Return the content of a complete paragraph; None if it has no text. See :func:`trim`."""
    entries = _without_fields(paragraph.entries)
    if not any(entry.text.strip() for entry in entries):
        return None
    base = _set_bases(entries)
    entries = _format(entries, base)
    items: list[Item] = []
    known: list[Entry] = []
    for entry in entries:
        if entry.kind is None:
            items.append(Item(entry.text, Span(0, len(entry.text))))
            continue
        text = " " if entry.name in _SPACES else ""
        # The key leads back to the entry, whatever ids the tag gets.
        items.append(Item(Tag("", entry.kind, entry.name, "", text, str(len(known))), Span(0, 0)))
        known.append(entry)
    inline = trim(pair_tags(items), place, loose=lambda tag: tag.name in _LOOSE)
    if inline is None:
        return None
    tags = [i.piece for i in (*inline.lead, *inline.core, *inline.trail) if isinstance(i.piece, Tag)]
    return kind(
        Span(paragraph.begin, end),
        inline,
        paragraph.prefix,
        base,
        {tag: known[int(tag.key)] for tag in tags},
    )


def _without_fields(entries: Sequence[Entry]) -> list[Entry]:
    """Merge each complete field into one code; a hyperlink field becomes a tag pair around its text."""
    result: list[Entry] = []
    begun: list[int] = []
    for entry in entries:
        if entry.field == "begin":
            begun.append(len(result))
        result.append(entry)
        if entry.field == "end" and begun:
            start = begun.pop()
            if len(begun) < MAX_FIELD_DEPTH:
                result[start:] = _field(result[start:])
    return result


def _field(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return a field as one code, a hyperlink field as a tag pair around its text."""
    if not _is_balanced(entries):
        return entries
    middle = next((n for n, entry in enumerate(entries) if entry.field == "separate"), None)
    instruction = "".join(entry.field for entry in entries[1:middle])
    if middle is None or "HYPERLINK" not in instruction:
        return [_merge("alone", "field", entries)]
    inside = entries[middle + 1 : -1]
    if not _is_balanced(inside):
        return entries
    return [_merge("open", "link", entries[: middle + 1]), *inside, _merge("close", "link", entries[-1:])]


def _is_balanced(entries: Sequence[Entry]) -> bool:
    """Return True if wrapper elements open and close within these entries."""
    depth = 0
    for entry in entries:
        depth += (entry.kind == "open") - (entry.kind == "close")
        if depth < 0:
            return False
    return depth == 0


def _merge(kind: Kind, name: str, entries: Sequence[Entry]) -> Entry:
    return Entry(kind, name, [fragment for entry in entries for fragment in entry.fragments])


def _set_bases(entries: Sequence[Entry]) -> bytes:
    """Set each wrapper's base properties to those of most of its text; return the paragraph's."""
    counts: list[tuple[Entry | None, Counter[bytes]]] = [(None, Counter())]
    samples: dict[bytes, bytes] = {}
    for entry in entries:
        if entry.kind == "open":
            counts.append((entry, Counter()))
        elif entry.kind == "close" and len(counts) > 1:
            opening, count = counts.pop()
            assert opening
            opening.base = samples[count.most_common(1)[0][0]] if count else b""
        elif entry.kind is None:
            samples.setdefault(entry.visible, entry.fragments[0].properties or b"")
            counts[-1][1][entry.visible] += len(entry.text.strip())
    count = counts[0][1]
    return samples[count.most_common(1)[0][0]] if count else b""


def _format(entries: Sequence[Entry], base: bytes) -> list[Entry]:
    """Put a tag pair around each text whose formatting differs from its base."""
    result: list[Entry] = []
    bases = [Entry(None, "", [Fragment("", base)]).visible]
    current: bytes | None = None

    def end() -> None:
        if current is not None:
            result.append(Entry("close", FORMAT, []))

    for entry in entries:
        if entry.kind is None:
            blank = not entry.text.strip()
            visible = (current or bases[-1]) if blank else entry.visible
            formatting = None if visible == bases[-1] else visible
            if formatting != current:
                end()
                if formatting is not None:
                    opening = Entry("open", FORMAT, [])
                    opening.base = entry.fragments[0].properties or b""
                    result.append(opening)
                current = formatting
        else:
            end()
            current = None
            if entry.kind == "open":
                bases.append(Entry(None, "", [Fragment("", entry.base)]).visible)
            elif entry.kind == "close" and len(bases) > 1:
                bases.pop()
        result.append(entry)
    end()
    return result
