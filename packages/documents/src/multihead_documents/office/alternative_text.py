"""Alternative texts of pictures and shapes in Office documents (ECMA-376, part 1, sec. 20.1.2.2.8)."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from multihead_documents.inline import Inline, Item, trim
from multihead_documents.markup import Markup
from multihead_documents.splice import Span
from multihead_documents.xml.events import Event, escape

HAVE_ALTERNATIVES = frozenset(("docPr", "cNvPr"))
"""Elements that may have alternative texts."""
_NAMES = ("descr", "title")
_FILE = re.compile(r".*\.(?:png|jpe?g|gif|bmp|emf|wmf|tiff?|svg|webp|hei[cf])", re.IGNORECASE)
"""The name of a picture's file, which programs write there."""


@dataclass
class AlternativeText:
    """The text of an attribute."""

    inline: Inline

    @property
    def span(self) -> Span:
        """The span of its value."""
        return self.inline.span

    def parts(self, translation: Markup) -> list[bytes | Span]:
        """Return the value of a translation."""
        text = escape(translation.text).replace('"', "&quot;").replace("'", "&apos;")
        return [text.encode()]


def alternative_texts(event: Event, place: str) -> Iterator[AlternativeText]:
    """Yield the alternative texts in the start tag of an element; file names are none.

    Args:
        event: the start of one of these elements, in UTF-8.
        place: of the tag, for errors.
    """
    for name in _NAMES:
        text = " ".join(event.attributes.get(name, "").split())
        match = re.search(rb"""\s%b\s*=\s*(["'])(.+?)\1""" % name.encode(), event.raw, re.DOTALL)
        if not (text and match) or _FILE.fullmatch(text):
            continue
        if " ".join(html.unescape(match[2].decode()).split()) != text:
            continue  # what looks like the attribute is in the value of another
        span = Span(event.span.start + match.start(2), event.span.start + match.end(2))
        if inline := trim([Item(text, span)], place):
            yield AlternativeText(inline)
