"""Readers of parallel corpora: two line-aligned files (Moses format), TSV or JSONL.

``data.pairs`` reads these and the bilingual documents of ``documents``.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, zip_longest
from typing import Literal

from multihead.addresses import located
from multihead.errors import UserError
from multihead.settings import DataSettings
from multihead.text.alignment import first_suspicious_line
from multihead.text.lines import STDIN, file_kind, read_lines

__all__ = ["read_lines", "read_pairs"]

Pair = tuple[str, str]
Format = Literal["lines", "tsv", "jsonl", "tmx", "xliff", "po", "subtitles"]
BILINGUAL: tuple[Format, ...] = ("tmx", "xliff", "po")
"""Documents that hold both sides; subtitles come in two files."""
DOCUMENTS: tuple[Format, ...] = (*BILINGUAL, "subtitles")

_INVALID = re.compile("[\0\ud800-\udfff]")
"""NUL and lone surrogates: JSON can escape them, but no text file can hold them."""


def read_pairs(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> Iterator[Pair]:
    """Yield the (source, target) pairs of the files in order.

    Args:
        data: folder, format, columns and encoding of the files.
        sources: source files, or TSV / JSONL files with both sides; "-" is standard input.
        targets: target files, line-aligned with the source files; empty for TSV and JSONL.

    Raises:
        UserError: a file is missing, empty or unreadable, two aligned files differ in length, or a row lacks
            a field.
    """
    check_sides(data, sources, targets)
    if not targets:
        for source in sources:
            yield from _rows(data, source)
        return
    for source, target in zip(sources, targets, strict=True):
        yield from _aligned_lines(_path(data, source), _path(data, target), data.encoding)


UNSUPPORTED = {
    ".csv": "Save it as tab-separated .tsv: a comma may also be part of a sentence.",
    ".xml": "Set data.format to tmx or xliff if it is one of these.",
    ".xlsx": "Spreadsheets are not supported: export the table as tab-separated .tsv.",
    ".zip": "Archives are not supported: unpack it, and name its files.",
}
"""Remedies for file types that are not read, by extension."""


COMPARED = 1 << 20
"""Lines from the beginning that are searched for the place where two files part."""


def check_sides(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse file names that do not give both sides of the pairs; see :func:`read_pairs`. Opens no file.

    Raises:
        UserError: one side is missing, a TSV or JSONL file has a target file as well, or standard input is
            named twice.
    """
    if (*sources, *targets).count(STDIN) > 1:
        raise UserError("standard input named twice", place="data", remedy="It can be read only once.")
    if not targets:
        for name in sources:
            if not holds_both_sides(data, name):
                remedy = (
                    "Name the target file too, or set data.format to tsv or jsonl if it holds both sides."
                )
                if file_format(data, name) == "subtitles":
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


def holds_both_sides(data: DataSettings, name: str) -> bool:
    """Return whether a file holds both sides of a corpus."""
    return file_format(data, name) not in ("lines", "subtitles")


def has_fields(data: DataSettings, name: str) -> bool:
    """Return whether a file is read as TSV or JSONL, whose columns or keys have names."""
    return file_format(data, name) in ("tsv", "jsonl")


def is_document(data: DataSettings, name: str) -> bool:
    """Return whether a file is read by ``documents``."""
    return file_format(data, name) in DOCUMENTS


def _path(data: DataSettings, name: str) -> str:
    return name if name == STDIN else str(located(data.dir, name))


_KINDS: dict[str, Format] = {
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".tmx": "tmx",
    ".xliff": "xliff",
    ".xlf": "xliff",
    ".po": "po",
    ".srt": "subtitles",
    ".vtt": "subtitles",
}
"""Format of each file extension; any other is lines."""


def file_format(data: DataSettings, name: str) -> Format:
    """Return the format of a file: ``data.format``, or by its extension."""
    return _KINDS.get(file_kind(name), "lines") if data.format == "auto" else data.format


def _aligned_lines(source: str, target: str, encoding: str) -> Iterator[Pair]:
    """Yield the pairs of two line-aligned files."""
    sides = source, target
    counts = [0, 0]
    for left, right in zip_longest(read_lines(source, encoding), read_lines(target, encoding)):
        counts[0] += left is not None
        counts[1] += right is not None
        if left is not None and right is not None:
            yield left, right
    for place, count in zip(sides, counts, strict=True):
        if not count:
            raise _empty(place)
    if counts[0] != counts[1]:
        fact = f"{counts[0]} lines, but {target} has {counts[1]}"
        raise UserError(fact, place=source, remedy=_where_they_part(sides, encoding, counts))


def _where_they_part(sides: tuple[str, str], encoding: str, counts: Sequence[int]) -> str:
    """Read two files of unequally many lines again, and return where to look for the difference."""
    if not all(located("", place).is_file() for place in sides):  # a pipe is read once
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


def _rows(data: DataSettings, name: str) -> Iterator[Pair]:
    """Yield the pairs of a TSV or JSONL file. A blank line is an empty pair, which cleaning counts."""
    path, kind = _path(data, name), file_format(data, name)
    lines = enumerate(read_lines(path, data.encoding), start=1)
    if kind == "tsv":
        columns = _columns(data, path, lines)
        parse = partial(_cells, columns=columns)
    else:
        parse = partial(_values, keys=(data.source_field or "source", data.target_field or "target"))
    number = 0
    for number, line in lines:
        if not line or line.isspace():
            yield "", ""
            continue
        try:
            pair = parse(line)
        except UserError as error:
            raise UserError(error.fact, place=f"{path}:{number}", remedy=error.remedy) from None
        yield pair
    if number == 0:
        raise _empty(path)


def _empty(place: str) -> UserError:
    return UserError("the file is empty", place=place, remedy="Check its name, and that it is complete.")


def _columns(data: DataSettings, path: str, lines: Iterator[tuple[int, str]]) -> tuple[int, int]:
    """Return the indices, from 0, of the source and target columns of a TSV file.

    If either is given by name, the first line is a header and is consumed.
    """
    fields = data.source_field or "1", data.target_field or "2"
    header: list[str] = []
    if not all(map(_is_number, fields)):
        header = next(lines, (0, ""))[1].split("\t")
        if not any(header):
            raise _empty(path)
    return _column(fields[0], header, path, "source"), _column(fields[1], header, path, "target")


def _is_number(field: str) -> bool:
    return field.isdecimal() and int(field) > 0


def _column(field: str, header: list[str], path: str, side: str) -> int:
    """Return the index, from 0, of a TSV column given by its number, from 1, or by its name in the header."""
    if _is_number(field):
        return int(field) - 1
    names = [name.strip() for name in header]
    if names.count(field) == 1:
        return names.index(field)
    fact = f'data.{side}_field = "{field}", but the header has '
    fact += "it twice" if field in names else f"the columns {', '.join(names)}"
    remedy = "Give the column's name in the header, or its number from 1."
    raise UserError(fact, place=f"{path}:1", remedy=remedy)


def _cells(line: str, *, columns: tuple[int, int]) -> Pair:
    cells = line.split("\t")
    if max(columns) >= len(cells):
        fact = f"no column {max(columns) + 1}: the line has {len(cells)}"
        remedy = "Correct the line, or set data.source_field and data.target_field."
        raise UserError(fact, remedy=remedy)
    return cells[columns[0]], cells[columns[1]]


def _values(line: str, *, keys: tuple[str, str]) -> Pair:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        remedy = 'Write one object a line: {"source": "...", "target": "..."}.'
        raise UserError(f"not JSON ({error})", remedy=remedy) from None
    if not isinstance(row, dict):
        remedy = 'Write one object a line: {"source": "...", "target": "..."}.'
        raise UserError("not a JSON object", remedy=remedy)
    return _value(row, keys[0]), _value(row, keys[1])


def _keys(row: dict[str, object]) -> list[str]:
    """Return the keys of an object; those of a nested object as ``outer.inner``."""
    found: list[str] = []
    for key, value in row.items():
        found += [f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key]
    return sorted(found)


def _value(row: dict[str, object], key: str) -> str:
    """Return the text under a key, its line feeds replaced by spaces.

    ``translation.de`` is the key ``de`` of the object under ``translation``.
    """
    outer, dot, inner = key.partition(".")
    if dot and key not in row and isinstance(below := row.get(outer), dict):
        return _value(below, inner)
    if key not in row:
        found = ", ".join(map(repr, _keys(row))) or "none"
        remedy = f"Set data.source_field and data.target_field (keys here: {found})."
        raise UserError(f"no key {key!r}", remedy=remedy)
    text = row[key]
    if not isinstance(text, str):
        fact = f"{key!r} is not a string but {json.dumps(text)[:40]}"
        raise UserError(fact, remedy="Quote it, or remove the line.")
    if _INVALID.search(text):
        fact = f"{key!r} contains a NUL character or a lone surrogate"
        raise UserError(fact, remedy="Remove it, or remove the line.")
    return text.replace("\r\n", " ").replace("\n", " ")
