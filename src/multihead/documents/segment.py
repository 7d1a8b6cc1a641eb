"""A document's translatable units, and their translations."""

from dataclasses import dataclass
from typing import Literal

from multihead.documents.markup import Markup

State = Literal["new", "translated", "needs-review", "final"]


@dataclass(frozen=True, slots=True)
class Plural:
    """One plural form of a message."""

    index: int
    """The form's index in the target language, ``msgstr[index]``."""
    count: int
    """The number of forms."""
    numbers: tuple[int, ...] = ()
    """The smallest numbers that take this form, at most five; empty where the rule is unknown."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One unit of translation: a paragraph, message or subtitle, without the white space around it."""

    number: int
    """Its index in ``Document.segments``, the key of its translation."""
    source: Markup
    place: str
    """``file:line``, or the part of an archive."""
    target: Markup | None = None
    """The translation that the document already has."""
    state: State = "new"
    key: str = ""
    """The message's name: an id, or a path of keys."""
    context: str = ""
    """What tells equal messages apart: ``msgctxt``, or the attribute that holds the text."""
    note: str = ""
    """Comments for the translator."""
    speaker: str = ""
    start: float | None = None
    """Seconds from the beginning, of a subtitle."""
    end: float | None = None
    max_length: int | None = None
    """The most characters that the document allows or has room for."""
    plural: Plural | None = None
    flags: tuple[str, ...] = ()
    """Flags of the message, such as ``python-format``."""

    @property
    def translated(self) -> bool:
        """True where the document has a translation that needs no review."""
        return bool(self.target) and self.state in ("translated", "final")


@dataclass(frozen=True, slots=True)
class Translation:
    """The new target of a segment."""

    target: Markup
    review: bool = False
    """Mark it as in need of review: ``fuzzy`` in PO, ``needs-review`` in XLIFF; elsewhere without effect."""
