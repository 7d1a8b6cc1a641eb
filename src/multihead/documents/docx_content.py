"""A paragraph of Word's as text with tags, and a translation of it as runs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from multihead.documents.docx_runs import Entry, Fragment, Paragraph
from multihead.documents.inline import Inline, Item, paired, trimmed
from multihead.documents.markup import Kind, Markup, Tag
from multihead.documents.splice import Span
from multihead.documents.xml_events import escaped

FORMAT = "format"
"""The name of the tags around text that looks other than most of the paragraph."""

_LOOSE = frozenset(
    (
        *("bookmarkStart", "bookmarkEnd", "commentRangeStart", "commentRangeEnd", "commentReference"),
        *("permStart", "permEnd", "footnoteReference", "footnoteRef", "endnoteReference", "endnoteRef"),
        *("br", "tab", "pict", "drawing", "object", "AlternateContent"),
    )
)
"""Codes that stay outside of a segment at its ends."""
DEEPEST_FIELD = 30
"""Of fields inside one another; deeper ones stay in pieces."""
_SPACES = frozenset(("br", "cr", "tab", "ptab"))


@dataclass
class Content:
    """The content of a paragraph that has text."""

    span: Span
    inline: Inline
    prefix: bytes
    base: bytes
    """The properties of most of its text."""
    entries: Mapping[Tag, Entry]
    """What each tag stands for."""

    def parts(self, translation: Markup) -> list[bytes | Span]:
        """Return the runs of a translation, between what surrounds the core of the paragraph."""
        pieces = [
            *(item.piece for item in self.inline.lead),
            *translation.pieces,
            *(item.piece for item in self.inline.trail),
        ]
        looks = [self.base]
        result: list[bytes | Span] = []
        for piece in pieces:
            if isinstance(piece, str):
                result += self._run(Fragment(piece, looks[-1]))
                continue
            entry = self.entries[piece]
            if piece.kind == "open":
                looks.append(entry.base)
            elif piece.kind == "close" and len(looks) > 1:
                looks.pop()
            for fragment in entry.fragments:
                result += self._run(fragment)
        return result

    def _run(self, fragment: Fragment) -> Iterator[bytes | Span]:
        """Yield a fragment in a run of its own, if it needs one."""
        content, properties = fragment
        w = self.prefix
        if properties is not None:
            yield b"<" + w + b"r>" + properties
        if isinstance(content, Span):
            yield content
        elif content:
            text = escaped(content.replace("\n", " ").replace("\t", " ")).encode()
            yield b"<" + w + b't xml:space="preserve">' + text + b"</" + w + b"t>"
        if properties is not None:
            yield b"</" + w + b"r>"


def content_of(paragraph: Paragraph, end: int, place: str) -> Content | None:
    """Return the content of a paragraph that ends here; None if it has no text. See :func:`trimmed`."""
    entries = _without_fields(paragraph.entries)
    if not any(entry.text.strip() for entry in entries):
        return None
    base = _set_bases(entries)
    entries = _formatted(entries, base)
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
    inline = trimmed(paired(items), place, loose=lambda tag: tag.name in _LOOSE)
    if inline is None:
        return None
    tags = [i.piece for i in (*inline.lead, *inline.core, *inline.trail) if isinstance(i.piece, Tag)]
    return Content(
        Span(paragraph.begin, end),
        inline,
        paragraph.prefix,
        base,
        {tag: known[int(tag.key)] for tag in tags},
    )


def _without_fields(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with every whole field as one code; of a link the text stays, between two codes."""
    result: list[Entry] = []
    begun: list[int] = []
    for entry in entries:
        if entry.says == "begin":
            begun.append(len(result))
        result.append(entry)
        if entry.says == "end" and begun:
            start = begun.pop()
            if len(begun) < DEEPEST_FIELD:
                result[start:] = _field(result[start:])
    return result


def _field(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return a field as one code; of a link its text stays, between two codes."""
    if not _balanced(entries):
        return entries
    middle = next((n for n, entry in enumerate(entries) if entry.says == "separate"), None)
    instruction = "".join(entry.says for entry in entries[1:middle])
    if middle is None or "HYPERLINK" not in instruction:
        return [_whole("alone", "field", entries)]
    inside = entries[middle + 1 : -1]
    if not _balanced(inside):
        return entries
    return [_whole("open", "link", entries[: middle + 1]), *inside, _whole("close", "link", entries[-1:])]


def _balanced(entries: Sequence[Entry]) -> bool:
    """Return True where every element around runs that begins in a field ends in it."""
    depth = 0
    for entry in entries:
        depth += (entry.kind == "open") - (entry.kind == "close")
        if depth < 0:
            return False
    return depth == 0


def _whole(kind: Kind, name: str, entries: Sequence[Entry]) -> Entry:
    return Entry(kind, name, [fragment for entry in entries for fragment in entry.fragments])


def _set_bases(entries: Sequence[Entry]) -> bytes:
    """Give each element around runs the properties of most of its own text, and return the paragraph's."""
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
            samples.setdefault(entry.look, entry.fragments[0].properties or b"")
            counts[-1][1][entry.look] += len(entry.text.strip())
    count = counts[0][1]
    return samples[count.most_common(1)[0][0]] if count else b""


def _formatted(entries: Sequence[Entry], base: bytes) -> list[Entry]:
    """Return the entries with a pair of tags around each text that looks other than the base."""
    result: list[Entry] = []
    bases = [Entry(None, "", [Fragment("", base)]).look]
    current: bytes | None = None

    def end() -> None:
        if current is not None:
            result.append(Entry("close", FORMAT, []))

    for entry in entries:
        if entry.kind is None:
            blank = not entry.text.strip()
            look = (current or bases[-1]) if blank else entry.look
            wanted = None if look == bases[-1] else look
            if wanted != current:
                end()
                if wanted is not None:
                    opening = Entry("open", FORMAT, [])
                    opening.base = entry.fragments[0].properties or b""
                    result.append(opening)
                current = wanted
        else:
            end()
            current = None
            if entry.kind == "open":
                bases.append(Entry(None, "", [Fragment("", entry.base)]).look)
            elif entry.kind == "close" and len(bases) > 1:
                bases.pop()
        result.append(entry)
    end()
    return result
