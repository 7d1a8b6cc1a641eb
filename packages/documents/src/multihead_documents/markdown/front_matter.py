"""Titles and descriptions in the front matter of Markdown, as YAML or TOML."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from multihead_documents.splice import Span
from multihead_documents.strings.yaml_scalars import is_plain, spell

FRONT = re.compile(
    r"\ufeff?(---|\+\+\+)[ \t]*\r?\n"
    r"(?=(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:[\w\"'][^\n]*[:=]|\1|\.\.\.))"  # a key, not text between two rules
    r"(?:[^\n]*\n)*?(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)"
)
"""Front matter at the beginning of a file."""
_KEYS = (
    "title|subtitle|description|summary|abstract|excerpt|linkTitle|linktitle|sidebar_label|nav_title|tagline"
)
"""Keys whose values readers see: Jekyll's, Hugo's, Docusaurus's, MkDocs's, Pandoc's, Quarto's."""
_ENTRY = re.compile(
    rf"^(?P<key>{_KEYS})[ \t]*[:=][ \t]+"
    r"(?P<value>\"(?:\\.|[^\"\\\r\n])*\"|'(?:''|[^'\r\n])*'|[^\s\"'\r\n][^\r\n]*?)"
    r"(?=[ \t]*(?:[ \t]#[^\r\n]*)?\r?$)",
    re.MULTILINE,
)


class Entry(NamedTuple):
    """A value that readers see: its key, its text, its span with the quotes, and the quotation mark."""

    key: str
    text: str
    span: Span
    quote: str

    def spell(self, text: str) -> str:
        """Return another text as this value is written, in quotes where it needs them."""
        return spell(" ".join(text.split("\n")), self.quote)


def entries(text: str) -> Iterator[Entry]:
    """Yield the values of the front matter that readers see, single lines at its top level."""
    front = FRONT.match(text)
    if not front:
        return
    toml = front[1] == "+++"
    for match in _ENTRY.finditer(text, front.start(), front.end()):
        raw, span = match["value"], Span(*match.span("value"))
        if raw.startswith('"'):
            try:
                yield Entry(match["key"], str(json.loads(raw)), span, '"')
            except ValueError:  # an escape that JSON lacks
                continue
        elif raw.startswith("'"):
            yield Entry(match["key"], raw[1:-1].replace("''", "'"), span, "'")
        elif not toml and is_plain(raw):
            yield Entry(match["key"], raw, span, "")
