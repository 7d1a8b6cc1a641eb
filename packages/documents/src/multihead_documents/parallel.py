"""Training pairs from bilingual files: TMX, XLIFF, PO, Qt Linguist, string catalogues of Xcode."""

import gzip
import lzma
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, cast

import zstandard

from multihead_documents.document import Document, best_language, languages_match
from multihead_documents.errors import DocumentError
from multihead_documents.formats import format_of
from multihead_documents.inline import trim
from multihead_documents.markup import Markup
from multihead_documents.memories.tmx_units import TMX, tmx_units
from multihead_documents.memories.xliff_units import xliff_units
from multihead_documents.reading import MAX_BYTES, Text, decode, document_errors, read_bytes, regular_size
from multihead_documents.strings.po import Catalogue, catalogue_text
from multihead_documents.strings.qt_linguist import QtTranslations
from multihead_documents.strings.xcstrings import StringCatalogue
from multihead_documents.xml.events import xml_events
from multihead_documents.xml.inline import Element, items_of, target_markup

_PACKED = (".gz", ".xz", ".zst")
_LISTED = 100
"""Units that are read to list a file's languages."""
_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError)


class Pair(NamedTuple):
    """A source and its translation. Corresponding tags have the same id."""

    source: Markup
    target: Markup
    place: str
    """``file:line``."""


def read_pairs(
    path: Path | str, source: str | None = None, target: str | None = None, *, kind: str | None = None
) -> Iterator[Pair]:
    """Yield the pairs of a TMX, XLIFF, PO, Qt or .xcstrings file. TMX and XLIFF are streamed.

    Units are skipped if they have no translation, or if it is fuzzy or needs review.

    Args:
        path: the file; TMX and XLIFF may be compressed (.gz, .xz, .zst).
        source: the source's language code, such as ``de``, which also stands for ``de-AT``; needed for TMX.
            A file from ``target`` to ``source`` is reversed.
        target: the target's.
        kind: the format, "tmx", "xliff", "po", "qt" or "xcstrings"; None: by the ending.

    Raises:
        DocumentError: the file is missing, malformed, of another format, or has no pair of these languages.
    """
    path = Path(path)
    kind = kind or format_of(path.with_suffix("") if path.suffix.lower() in _PACKED else path).name
    readers = {"tmx": _memory, "xliff": _bilingual, "po": _messages, "qt": _messages, "xcstrings": _messages}
    pairs = readers.get(kind)
    if pairs is None:
        endings = ".tmx, .xliff, .xlf, .po, .ts and .xcstrings"
        remedy = f"Pairs are read from {endings}, and from two subtitle files."
        raise DocumentError("not a bilingual file", place=str(path), remedy=remedy)
    empty = True
    for pair in pairs(path, source, target, kind):
        empty = False
        yield pair
    if empty:
        raise DocumentError(
            "no translated segment", place=str(path), remedy="Is it the right file, and whole?"
        )


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file. Raises ``DocumentError`` if it cannot be read."""
    with document_errors(path):
        try:
            regular_size(path)
            with _open(path) as file:
                while chunk := file.read(1 << 16):
                    yield chunk
        except _DAMAGE as error:
            fact = f"the compressed file is damaged or cut off ({error})"
            raise DocumentError(fact, place=str(path), remedy="Fetch or pack it again.") from None


def _open(path: Path) -> IO[bytes]:
    """Open a file, decompressing by its extension."""
    ending = path.suffix.lower()
    if ending == ".gz":
        return cast(IO[bytes], gzip.open(path))
    if ending == ".xz":
        return lzma.open(path)
    return zstandard.open(path) if ending == ".zst" else path.open("rb")


def _memory(path: Path, source: str | None, target: str | None, kind: str) -> Iterator[Pair]:
    """Yield the pairs of a TMX file."""
    if not source or not target:
        raise _no_language_error(path)
    seen: dict[str, None] = {}
    has_pairs = False
    for unit in tmx_units(xml_events(_chunks(path), str(path)), str(path)):
        languages = list(unit.variants)
        if len(seen) < 20:
            seen.update(dict.fromkeys(languages))
        first, second = best_language(source, languages), best_language(target, languages)
        if first is None or second is None or first == second:
            continue
        has_pairs = True
        sides = [unit.variants[language].child("seg") for language in (first, second)]
        if (left := sides[0]) and (right := sides[1]):
            yield from _pair(left, right, str(path))
    if not has_pairs:
        fact = f"no unit in both {source} and {target} (languages: {', '.join(seen) or 'none'})"
        raise DocumentError(fact, place=str(path), remedy="Name two of its languages.")


def _no_language_error(path: Path) -> DocumentError:
    """Return the error for a memory of which no languages are named; it lists some that the file has."""
    seen: dict[str, None] = {}
    for unit in islice(tmx_units(xml_events(_chunks(path), str(path)), str(path)), _LISTED):
        seen.update(dict.fromkeys(unit.variants))
    fact = f"no pair of languages named (the file has: {', '.join(islice(seen, 20)) or 'none'})"
    return DocumentError(
        fact, place=str(path), remedy="Name two of them: --source-language de --target-language en."
    )


def _pair(left: Element, right: Element, path: str) -> Iterator[Pair]:
    place = f"{path}:{left.start.line}"
    inline = trim(items_of(left, TMX), place)
    target = target_markup(items_of(right, TMX), inline) if inline else None
    if inline and target and target.text.strip():
        yield Pair(inline.markup, target, place)


def _bilingual(path: Path, source: str | None, target: str | None, kind: str) -> Iterator[Pair]:
    """Yield the pairs of an XLIFF file."""
    for unit in xliff_units(xml_events(_chunks(path), str(path)), str(path)):
        languages = unit.languages
        turned = _is_turned(path, (languages.source, languages.target), (source, target))
        for part in unit.parts:
            if part.translation and part.state in ("translated", "final"):
                sides = part.inline.markup, part.translation
                left, right = sides[::-1] if turned else sides
                yield Pair(left, right, f"{path}:{part.source.start.line}")


def _messages(path: Path, source: str | None, target: str | None, kind: str) -> Iterator[Pair]:
    """Yield the pairs of a file of messages: PO, Qt Linguist, string catalogue."""
    data = read_bytes(path, MAX_BYTES)
    document: Document
    if kind == "po":
        document = Catalogue(path, catalogue_text(data, path, None))
    elif kind == "qt":
        document = QtTranslations(path, data)
    else:
        document = _string_catalogue(path, decode(data, path), source, target)
    turned = _is_turned(path, (document.source_language, document.target_language), (source, target))
    for segment in document.segments:
        if segment.target and segment.translated:
            sides = segment.source, segment.target
            left, right = sides[::-1] if turned else sides
            yield Pair(left, right, segment.place)


def _string_catalogue(path: Path, text: Text, source: str | None, target: str | None) -> StringCatalogue:
    """Read a catalogue of several languages: the one beside its own that is asked for."""
    catalogue = StringCatalogue(path, text)
    source_language = catalogue.source_language or ""
    others = [
        language
        for language in (target, source)
        if language and not languages_match(language, source_language)
    ]
    return StringCatalogue(path, text, others[0]) if others else catalogue


def _is_turned(path: Path, have: tuple[str | None, str | None], want: tuple[str | None, str | None]) -> bool:
    """Return True if the file has the opposite direction. Raises ``DocumentError`` for other languages."""
    if _fits(have, want):
        return False
    if _fits(have[::-1], want):
        return True
    fact = f"from {have[0] or 'an unnamed language'} to {have[1] or 'an unnamed one'}"
    raise DocumentError(fact, place=str(path), remedy=f"Wanted: from {want[0]} to {want[1]}.")


def _fits(have: tuple[str | None, str | None], want: tuple[str | None, str | None]) -> bool:
    return all(not a or not b or languages_match(b, a) for a, b in zip(have, want, strict=True))
