"""Comments in a Word document (ECMA-376, part 1, sec. 17.13.4)."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from multihead_documents.office.package_changes import AUTHOR, DECLARATION, PackageChanges
from multihead_documents.splice import Edit, Span
from multihead_documents.xml.document import prefix_of
from multihead_documents.xml.events import Event, escape

_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.comments+xml"


class Anchor(NamedTuple):
    """The content of a paragraph that is in no other, without its properties."""

    content: Span
    declared: str
    """Declaration of the prefix "w", if the paragraph has another."""

    def comment(self, id: int) -> Iterator[Edit[bytes]]:
        """Yield the edits that put a comment around the content."""
        w, (begin, end) = self.declared, self.content
        yield Edit(Span(begin, begin), [f'<w:commentRangeStart{w} w:id="{id}"/>'.encode()])
        reference = f'<w:r{w}><w:commentReference w:id="{id}"/></w:r>'
        yield Edit(Span(end, end), [f'<w:commentRangeEnd{w} w:id="{id}"/>{reference}'.encode()])


def anchors(events: Iterable[Event], space: str) -> Iterator[Anchor]:
    """Yield the anchors of the main part, in order. Comments cannot stand in headers, notes and text boxes.

    Args:
        events: the XML events of the part.
        space: namespace of its elements.
    """
    depth = level = begin = 0
    declared: str | None = None
    for event in events:
        if event.kind == "start":
            if declared is None and (event.name, event.space) == ("p", space) and not event.empty:
                level, begin = depth, event.span.end
                declared = _declaration(prefix_of(event.raw.decode()), space)
            depth += 1
        elif event.kind == "end":
            depth -= 1
            if declared is None:
                continue
            if event.name == "pPr" and depth == level + 1:
                begin = event.span.end
            elif depth == level:
                yield Anchor(Span(begin, event.span.start), declared)
                declared = None


def anchor_at(ordered: Sequence[Anchor], offset: int) -> Anchor | None:
    """Return the anchor around an offset, None if there is none."""
    index = bisect_right(ordered, offset, key=lambda anchor: anchor.content.start)
    anchor = ordered[index - 1] if index else None
    return anchor if anchor and offset <= anchor.content.end else None


def add_comments(
    package: PackageChanges, main: str, existing: Sequence[str], comments: Mapping[int, str]
) -> None:
    """Add comments to a document.

    Args:
        package: the document.
        main: its main part.
        existing: its part of comments, if there is one.
        comments: lines of text by id.
    """

    def spell(prefix: str) -> str:
        w = _declaration(prefix, package.space)
        return "".join(
            f'<w:comment{w} w:id="{id}" w:author="{AUTHOR}" w:initials="m">{_paragraphs(text)}</w:comment>'
            for id, text in comments.items()
        )

    if existing:
        package.append(existing[0], "comments", spell)
        return
    content = f'<w:comments xmlns:w="{package.space}">{spell("w:")}</w:comments>'
    package.add(main, "comments", "word/comments{}.xml", _TYPE, DECLARATION + content.encode())


def _paragraphs(text: str) -> str:
    return "".join(
        f'<w:p><w:r><w:t xml:space="preserve">{escape(line)}</w:t></w:r></w:p>' for line in text.split("\n")
    )


def _declaration(prefix: str, space: str) -> str:
    """Return a declaration of the prefix "w", unless a part uses it."""
    return "" if prefix == "w:" else f' xmlns:w="{space}"'
