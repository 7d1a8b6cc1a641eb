"""Base class of documents: read into segments, written back with translations."""

import os
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import langcodes

from multihead_documents.errors import DocumentError
from multihead_documents.markup import Markup, Tag, faults
from multihead_documents.segment import Segment, Translation

MAX_SEGMENTS = 1_000_000
"""Limit of segments in a document."""

Target = Translation | Markup | str


class Document(ABC):
    """A parsed document. ``segments`` holds its translatable units; everything else is written unchanged."""

    kind: str
    """The name of its format, such as ``html``."""
    source_language: str | None = None
    target_language: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.segments: list[Segment] = []
        self.notes: list[tuple[str, str]] = []
        """(place, note) of texts that are not translated."""

    def note_links(self, places: Iterable[str]) -> None:  # noqa: B027
        """Take note of places in it that other documents link to, by the words of headings."""

    @abstractmethod
    def _render(self, translations: Mapping[int, Translation]) -> bytes:
        """Return the file with these validated translations."""

    def render(self, translations: Mapping[int, Target]) -> bytes:
        """Return the file with translations, keyed by segment number. Without any: the original bytes.

        A ``str`` or ``Markup`` is a translation that needs no review.

        Raises:
            ValueError: unknown segment number; a translation's tags differ from its source's.
            DocumentError: a character that the file's encoding cannot represent.
        """
        return self._render({number: self._check(number, target) for number, target in translations.items()})

    def write(self, translations: Mapping[int, Target], path: Path) -> None:
        """Write :meth:`render` to ``path`` atomically."""
        replace_file(path, self.render(translations))

    def _check(self, number: int, target: Target) -> Translation:
        if not 0 <= number < len(self.segments):
            raise ValueError(f"{self.path} has no segment {number}")
        if isinstance(target, str):
            target = Markup.of(target)
        translation = target if isinstance(target, Translation) else Translation(target)
        source = self.segments[number].source
        if problems := faults(source, translation.target):
            raise ValueError(f"{self.segments[number].place}: {'; '.join(problems)}")
        tags = {tag: tag for tag in source.tags}  # a translation may know their ids alone
        pieces = (tags[piece] if isinstance(piece, Tag) else piece for piece in translation.target.pieces)
        return replace(translation, target=storable(Markup.of(*pieces)).strip())

    def _add(self, segment: Segment) -> None:
        """Append a segment. Raises ``DocumentError`` where there are too many."""
        if len(self.segments) >= MAX_SEGMENTS:
            fact = f"more than {MAX_SEGMENTS:,} segments"
            raise DocumentError(fact, place=str(self.path), remedy="Split the document.")
        if _NO_TEXT.search(segment.source.text) or (segment.target and _NO_TEXT.search(segment.target.text)):
            target = storable(segment.target) if segment.target else None
            segment = replace(segment, source=storable(segment.source), target=target)
        self.segments.append(segment)


_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def storable(markup: Markup) -> Markup:
    """Return the markup with NUL and lone surrogates replaced by U+FFFD."""
    pieces = (_NO_TEXT.sub("\ufffd", piece) if isinstance(piece, str) else piece for piece in markup.pieces)
    return Markup.of(*pieces)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically; a pipe or device is written to instead.

    Raises:
        DocumentError: the folder or the disk refuses.
    """
    partial: Path | None = None
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a pipe or a terminal is written into, never replaced
            return
        partial = path.with_name(f".{path.name[:50]}.{secrets.token_hex(6)}")
        with partial.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        fact = f"cannot be written ({error.strerror or error})"
        raise DocumentError(
            fact, place=str(path), remedy="Check the folder and the room on the disk."
        ) from None
    finally:
        if partial:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


def languages_match(wanted: str, found: str) -> bool:
    """Return True if two language codes agree, or one is a regional form of the other (``de``, ``de-AT``).

    Spellings of one language agree: ``deu``, ``ger`` and ``DE``.
    """
    left, right = _standard(wanted), _standard(found)
    return left == right or right.startswith(f"{left}-") or left.startswith(f"{right}-")


def best_language(wanted: str, found: Sequence[str]) -> str | None:
    """Return the code that matches best, an equal one first; None if none does."""
    return min(
        (code for code in found if languages_match(wanted, code)),
        key=lambda code: (_standard(code) != _standard(wanted), len(code)),
        default=None,
    )


@lru_cache(1024)
def _standard(code: str) -> str:
    """Return a code in canonical form; as it is, in lower case, where it has none."""
    try:
        return langcodes.standardize_tag(code.strip(), macro=True).lower()
    except ValueError:
        return code.lower().replace("_", "-")
