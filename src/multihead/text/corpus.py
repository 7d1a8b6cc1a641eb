"""Readers of parallel corpora: two line-aligned files (Moses format), TSV, CSV or JSONL.

``data.pairs`` reads these and the bilingual documents of ``documents``.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Literal

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.system.addresses import locate_file
from multihead.text.alignment import first_suspicious_line
from multihead.text.lines import STDIN, empty, file_kind, read_lines
from multihead.text.rows import Pair, read_rows, remarks_on_columns

__all__ = ["read_lines", "read_pairs"]

Format = Literal["lines", "tsv", "csv", "jsonl", "tmx", "xliff", "po", "qt", "xcstrings", "subtitles"]
BILINGUAL: tuple[Format, ...] = ("tmx", "xliff", "po", "qt", "xcstrings")
"""Documents that hold both sides; subtitles come in two files."""
DOCUMENTS: tuple[Format, ...] = (*BILINGUAL, "subtitles")


def read_pairs(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> Iterator[Pair]:
    """Yield the (source, target) pairs of the files in order.

    Args:
        data: folder, format, columns and encoding of the files.
        sources: source files, or TSV, CSV or JSONL files with both sides; "-" is standard input.
        targets: target files, line-aligned with the source files; empty for files with both sides.

    Raises:
        UserError: a file is missing, empty or unreadable, two aligned files differ in length, or a row lacks
            a field.
    """
    check_sides(data, sources, targets)
    if not targets:
        for source in sources:
            yield from read_rows(data, _path(data, source), file_format(data, source))
        return
    for source, target in zip(sources, targets, strict=True):
        yield from _aligned_lines(_path(data, source), _path(data, target), data.encoding)


UNSUPPORTED = {
    ".xml": "Set data.format to tmx or xliff if it is one of these.",
    ".xlsx": "Save the table as CSV (UTF-8).",
    ".ods": "Save the table as CSV (UTF-8).",
    ".json": "Write one object a line (.jsonl).",
    ".parquet": "Export it as .jsonl or .csv.",
    ".zip": "Archives are not supported: unpack it, and name its files.",
    ".bz2": "Unpack it (bunzip2), or compress it with gzip, xz or zstandard.",
}
"""Remedies for file types that are not read, by extension."""


COMPARED = 1 << 20
"""Lines from the beginning that are searched for the place where two files part."""


def check_sides(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse file names that do not give both sides of the pairs; see :func:`read_pairs`. Opens no file.

    Raises:
        UserError: one side is missing, a file with both sides has a target file as well, or standard input is
            named twice.
    """
    if (*sources, *targets).count(STDIN) > 1:
        raise UserError("standard input named twice", place="data", remedy="It can be read only once.")
    if not targets:
        for name in sources:
            kind = file_format(data, name)
            if kind in ("lines", "subtitles"):
                remedy = "Name the target file too, or set data.format (tsv, csv, jsonl) if it holds both."
                if kind == "subtitles":
                    remedy = "Name the other language's subtitles as the target."
                remedy = UNSUPPORTED.get(file_kind(name), remedy)
                raise UserError("one side only", place=_path(data, name), remedy=remedy)
        return
    if len(sources) != len(targets):
        fact = f"{len(sources)} source files but {len(targets)} target files"
        raise UserError(fact, place="data", remedy="Name them in pairs, in the same order.")
    for source, target in zip(sources, targets, strict=True):
        formats = {file_format(data, source), file_format(data, target)}
        if formats == {"lines", "subtitles"}:
            fact = "subtitles beside a file of lines, which has no times"
            remedy = "Name two subtitle files, or set data.format to lines."
            raise UserError(fact, place=f"{source}, {target}", remedy=remedy)
        if not formats <= {"lines", "subtitles"}:
            remedy = "Name it as the source only, or set data.format to lines."
            kind = next(kind for kind in sorted(formats) if kind not in ("lines", "subtitles"))
            fact = f"a {kind.upper()} file already holds both sides"
            raise UserError(fact, place=f"{source}, {target}", remedy=remedy)


def has_fields(data: DataSettings, name: str) -> bool:
    """Return whether a file is read as TSV, CSV or JSONL, whose columns or keys have names."""
    return file_format(data, name) in ("tsv", "csv", "jsonl")


def remarks(data: DataSettings, names: Sequence[str]) -> Iterator[str]:
    """Yield remarks about how the columns of these files are read, one line each.

    Raises:
        UserError: see :func:`read_pairs`.
    """
    for name in names:
        kind = file_format(data, name)
        if kind in ("tsv", "csv") and locate_file(data.dir, name).is_file():
            yield from remarks_on_columns(data, _path(data, name), kind)


def is_document(data: DataSettings, name: str) -> bool:
    """Return whether a file is read by ``documents``."""
    return file_format(data, name) in DOCUMENTS


def _path(data: DataSettings, name: str) -> str:
    return name if name == STDIN else str(locate_file(data.dir, name))


_KINDS: dict[str, Format] = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".tmx": "tmx",
    ".xliff": "xliff",
    ".xlf": "xliff",
    ".po": "po",
    ".xcstrings": "xcstrings",
    ".srt": "subtitles",
    ".vtt": "subtitles",
}
"""Format of each file extension; any other is lines, even .ts, which may be text in Tsonga rather than Qt."""


def file_format(data: DataSettings, name: str) -> Format:
    """Return the format of a file: ``data.format``, or by its extension."""
    return _KINDS.get(file_kind(name), "lines") if data.format == "auto" else data.format


def _aligned_lines(source: str, target: str, encoding: str) -> Iterator[Pair]:
    sides = source, target
    counts = [0, 0]
    for left, right in zip_longest(read_lines(source, encoding), read_lines(target, encoding)):
        counts[0] += left is not None
        counts[1] += right is not None
        if left is not None and right is not None:
            yield left, right
    for place, count in zip(sides, counts, strict=True):
        if not count:
            raise empty(place)
    if counts[0] != counts[1]:
        fact = f"{counts[0]} lines, but {target} has {counts[1]}"
        raise UserError(fact, place=source, remedy=_where_they_part(sides, encoding, counts))


def _where_they_part(sides: tuple[str, str], encoding: str, counts: Sequence[int]) -> str:
    """Read two files of unequally many lines again, and return where to look for the difference."""
    if not all(locate_file("", place).is_file() for place in sides):  # a pipe is read once
        return "Both sides need the same number of lines."
    fewest, most = min(counts), max(counts)
    compared = min(fewest, COMPARED)
    longer = compared + min(most - fewest, COMPARED)
    lengths = [
        [len(line) for line in islice(read_lines(place, encoding), compared if count == fewest else longer)]
        for place, count in zip(sides, counts, strict=True)
    ]
    line = first_suspicious_line(*lengths)
    return f"If the files belong together, check around line {line}, where the lengths stop agreeing."
