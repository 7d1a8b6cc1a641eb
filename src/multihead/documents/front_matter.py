"""Titles and descriptions in the front matter of Markdown, as YAML or TOML."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from multihead.documents.splice import Span

FRONT = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n(?:[^\n]*\n)*?(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)")
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
_UNSAFE = re.compile(
    r"[\s\[\]{}<>|*&!%#`@,?:\"'~=.+-]|.*(?::(?:\s|\Z)|\s#)|(?:true|false|null|yes|no|on|off)\Z|[\d.]",
    re.IGNORECASE,
)
"""What YAML would read as something else than a text, if it is not in quotes."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Entry(NamedTuple):
    """A value that readers see: its key, its text, its span with the quotes, and the quotation mark."""

    key: str
    text: str
    span: Span
    quote: str

    def spelled(self, text: str) -> str:
        """Return another text as this value is written, in quotes where it needs them."""
        text = _CONTROL.sub(" ", text)
        if self.quote == "'" and "'" not in text:
            return f"'{text}'"
        if not self.quote and not _UNSAFE.match(text):
            return text
        return json.dumps(text, ensure_ascii=False)


def entries(text: str) -> Iterator[Entry]:
    """Yield the values of the front matter that readers see, single lines at its top level."""
    front = FRONT.match(text)
    if not front:
        return
    toml = front[1] == "+++"
    for found in _ENTRY.finditer(text, front.start(), front.end()):
        raw, span = found["value"], Span(*found.span("value"))
        if raw.startswith('"'):
            try:
                yield Entry(found["key"], str(json.loads(raw)), span, '"')
            except ValueError:  # an escape that JSON lacks
                continue
        elif raw.startswith("'"):
            yield Entry(found["key"], raw[1:-1].replace("''", "'"), span, "'")
        elif not toml and not _UNSAFE.match(raw):
            yield Entry(found["key"], raw, span, "")
