"""A document that is read into segments and written back with their translations."""

import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from multihead import disk
from multihead.documents.markup import Markup, faults
from multihead.documents.segment import Segment, Translation
from multihead.errors import UserError

MOST_SEGMENTS = 1_000_000
"""A document with more is split before it is translated; reading stops before memory does."""

Target = Translation | Markup | str


class Document(ABC):
    """An opened document. ``segments`` is what can be translated; all else is written as it was read."""

    kind: str
    """The name of its format, such as ``html``."""
    source_language: str | None = None
    target_language: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.segments: list[Segment] = []

    @abstractmethod
    def _rendered(self, translations: Mapping[int, Translation]) -> bytes:
        """Return the file with checked translations in place."""

    def rendered(self, translations: Mapping[int, Target]) -> bytes:
        """Return the file with these translations, by the number of their segment; without, the bytes it had.

        A ``str`` or ``Markup`` is a translation that needs no review.

        Raises:
            ValueError: no segment has such a number; a translation's tags are not those of its source.
            UserError: a character that the file's encoding lacks.
        """
        return self._rendered(
            {number: self._checked(number, target) for number, target in translations.items()}
        )

    def write(self, translations: Mapping[int, Target], path: Path) -> None:
        """Write :meth:`rendered` to ``path``, which is replaced as a whole or not at all."""
        replace_file(path, self.rendered(translations))

    def _checked(self, number: int, target: Target) -> Translation:
        if not 0 <= number < len(self.segments):
            raise ValueError(f"{self.path} has no segment {number}")
        if isinstance(target, str):
            target = Markup.of(target)
        translation = target if isinstance(target, Translation) else Translation(target)
        if found := faults(self.segments[number].source, translation.target):
            raise ValueError(f"{self.segments[number].place}: {'; '.join(found)}")
        return Translation(storable(translation.target).strip(), translation.review)

    def _add(self, segment: Segment) -> None:
        """Append a segment. Raises ``UserError`` where there are too many."""
        if len(self.segments) >= MOST_SEGMENTS:
            fact = f"more than {MOST_SEGMENTS:,} segments"
            raise UserError(fact, place=str(self.path), remedy="Split the document.")
        if _NO_TEXT.search(segment.source.text) or (segment.target and _NO_TEXT.search(segment.target.text)):
            target = storable(segment.target) if segment.target else None
            segment = replace(segment, source=storable(segment.source), target=target)
        self.segments.append(segment)


_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def storable(markup: Markup) -> Markup:
    """Return the markup with U+FFFD for what no file can hold: NUL, halves of surrogate pairs."""
    pieces = (_NO_TEXT.sub("\ufffd", piece) if isinstance(piece, str) else piece for piece in markup.pieces)
    return Markup.of(*pieces)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file by one with this content: at any moment it is the old one or the new one.

    Raises:
        UserError: the folder or the disk refuses.
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
        disk.sync(partial)
        partial.replace(path)
    except OSError as error:
        fact = f"cannot be written ({error.strerror or error})"
        raise UserError(fact, place=str(path), remedy="Check the folder and the room on the disk.") from None
    finally:
        if partial:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


def languages_match(wanted: str, found: str) -> bool:
    """Return True where a language code is the wanted one or a regional form of it: ``de`` and ``de-AT``."""
    left, right = wanted.lower().replace("_", "-"), found.lower().replace("_", "-")
    return left == right or right.startswith(f"{left}-") or left.startswith(f"{right}-")


def best_language(wanted: str, found: Sequence[str]) -> str | None:
    """Return which of these codes matches the wanted one best, the same one first; None if none does."""
    return min(
        (code for code in found if languages_match(wanted, code)),
        key=lambda code: (code.lower().replace("_", "-") != wanted.lower().replace("_", "-"), len(code)),
        default=None,
    )
