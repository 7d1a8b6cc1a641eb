"""Segments of a document, and their translations."""

from dataclasses import dataclass
from typing import Literal

from multihead_documents.markup import Markup

State = Literal["new", "translated", "needs-review", "final"]


@dataclass(frozen=True, slots=True)
class Plural:
    """A plural form of a message."""

    index: int
    """Index of the form in the target language, ``msgstr[index]``."""
    count: int
    """The number of forms."""
    numbers: tuple[int, ...] = ()
    """Up to five numbers that take this form; empty if the rule is unknown."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A unit of translation: a paragraph, message or subtitle, stripped of white space."""

    number: int
    """Its index in ``Document.segments``."""
    source: Markup
    place: str
    """``file:line``, or the part of an archive."""
    target: Markup | None = None
    """The existing translation."""
    state: State = "new"
    key: str = ""
    """Message id or key path."""
    context: str = ""
    """Disambiguating context: ``msgctxt``, or the attribute."""
    note: str = ""
    """Comments for the translator."""
    speaker: str = ""
    start: float | None = None
    """Start time of a subtitle in seconds."""
    end: float | None = None
    max_length: int | None = None
    """Length limit in characters."""
    plural: Plural | None = None
    flags: tuple[str, ...] = ()
    """Message flags, such as ``python-format``."""

    @property
    def translated(self) -> bool:
        """True for an existing translation that needs no review."""
        return bool(self.target) and self.state in ("translated", "final")


@dataclass(frozen=True, slots=True)
class Translation:
    """A translation to be written."""

    target: Markup
    review: bool = False
    """Mark it for review (``fuzzy`` in PO, ``needs-review`` in XLIFF)."""
    comment: str = ""
    """Lines to write as a comment at its place, in a format with ``Format.comments``; "": none."""
