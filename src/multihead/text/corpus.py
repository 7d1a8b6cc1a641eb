"""Sentence pairs from files: two aligned files (Moses), TSV or JSONL."""

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from multihead.errors import UserError
from multihead.settings import DataSettings
from multihead.text.alignment import first_suspicious_line
from multihead.text.lines import STDIN, file_kind, read_lines

__all__ = ["read_lines", "read_pairs"]

Pair = tuple[str, str]
Format = Literal["lines", "tsv", "jsonl"]

_NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""What JSON can spell and no text file can hold: NUL, halves of surrogate pairs."""


def read_pairs(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> Iterator[Pair]:
    """Yield the (source, target) pairs of files, one file after the other.

    Args:
        data: the folder, format, columns and encoding of the files.
        sources: the source side; or TSV / JSONL files that hold both sides. "-" is standard input.
        targets: the target side, file by file and line by line with the source; empty for TSV and JSONL.

    Raises:
        UserError: files that are missing, empty, unreadable or of different length; a row without its fields.
    """
    check_sides(data, sources, targets)
    if not targets:
        for source in sources:
            yield from _rows(data, source)
        return
    for source, target in zip(sources, targets, strict=True):
        yield from _lines(_path(data, source), _path(data, target), data.encoding)


OTHER_KINDS = {
    ".csv": "Save it with tabs between the columns, as .tsv: commas also stand in sentences.",
    ".tmx": "A TMX file is not read: save its segments as .tsv, a pair a line.",
    ".xml": "An XML file is not read: save its sentences as .tsv, a pair a line.",
    ".xlsx": "A table of a spreadsheet is not read: save it with tabs between the columns, as .tsv.",
    ".zip": "An archive is not read: unpack it, and name its files.",
}
"""What to do with files that are often given for a corpus."""


def check_sides(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse files that cannot be two sides of pairs, by their names alone; see :func:`read_pairs`.

    Raises:
        UserError: one side only, both sides in one file and another beside it, standard input named twice.
    """
    if (*sources, *targets).count(STDIN) > 1:
        raise UserError("standard input named twice", place="data", remedy="It can be read only once.")
    if not targets:
        for name in sources:
            if _format(data, name) == "lines":
                remedy = "Name the target files too, or set data.format to tsv or jsonl if it has both."
                remedy = OTHER_KINDS.get(file_kind(name), remedy)
                raise UserError("one side only", place=_path(data, name), remedy=remedy)
        return
    if len(sources) != len(targets):
        fact = f"{len(sources)} source files but {len(targets)} target files"
        raise UserError(fact, place="data", remedy="Name them in pairs, in the same order.")
    for source, target in zip(sources, targets, strict=True):
        if {_format(data, source), _format(data, target)} != {"lines"}:
            remedy = "Name it as the source only, or set data.format to lines."
            raise UserError("holds both sides by itself", place=f"{source}, {target}", remedy=remedy)


def _path(data: DataSettings, name: str) -> str:
    return name if name == STDIN else str(Path(data.dir) / name)


def _format(data: DataSettings, name: str) -> Format:
    if data.format != "auto":
        return data.format
    kinds: dict[str, Format] = {".tsv": "tsv", ".jsonl": "jsonl"}
    return kinds.get(file_kind(name), "lines")


def _lines(source: str, target: str, encoding: str) -> Iterator[Pair]:
    """Yield line by line from two files."""
    lengths = array("I"), array("I")
    for left, right in zip_longest(read_lines(source, encoding), read_lines(target, encoding)):
        if left is not None:
            lengths[0].append(len(left))
        if right is not None:
            lengths[1].append(len(right))
        if left is not None and right is not None:
            yield left, right
    for place, counted in zip((source, target), lengths, strict=True):
        if not counted:
            raise _empty(place)
    if len(lengths[0]) != len(lengths[1]):
        line = first_suspicious_line(*lengths)
        fact = f"{len(lengths[0])} lines, but {target} has {len(lengths[1])}"
        remedy = f"Do they belong together? If so, look about line {line} first, where lengths stop agreeing."
        raise UserError(fact, place=source, remedy=remedy)


def _rows(data: DataSettings, name: str) -> Iterator[Pair]:
    """Yield the pairs of a file that holds both sides. A blank line is an empty pair: cleaning counts it."""
    path, kind = _path(data, name), _format(data, name)
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
    return UserError("the file is empty", place=place, remedy="Is it the right one, and whole?")


def _columns(data: DataSettings, path: str, lines: Iterator[tuple[int, str]]) -> tuple[int, int]:
    """Return the indices, from 0, of the two columns of a TSV file.

    Columns that are called by name have a heading line; it is taken from the lines, for it is no pair.
    """
    fields = data.source_field or "1", data.target_field or "2"
    heading: list[str] = []
    if not all(map(_is_number, fields)):
        heading = next(lines, (0, ""))[1].split("\t")
        if not any(heading):
            raise _empty(path)
    return _column(fields[0], heading, path, "source"), _column(fields[1], heading, path, "target")


def _is_number(field: str) -> bool:
    return field.isdecimal() and int(field) > 0


def _column(field: str, heading: list[str], path: str, side: str) -> int:
    """Return the index, from 0, of a TSV column: named by number, from 1, or by what stands over it."""
    if _is_number(field):
        return int(field) - 1
    names = [name.strip() for name in heading]
    if names.count(field) == 1:
        return names.index(field)
    fact = f'data.{side}_field = "{field}", but the heading line has '
    fact += "it twice" if field in names else f"the columns {', '.join(names)}"
    raise UserError(fact, place=f"{path}:1", remedy="Name a column by its heading, or by its number from 1.")


def _cells(line: str, *, columns: tuple[int, int]) -> Pair:
    cells = line.split("\t")
    if max(columns) >= len(cells):
        fact = f"column {max(columns) + 1} wanted, but there are {len(cells)}"
        remedy = "Mend the line, or set data.source_field and data.target_field."
        raise UserError(fact, remedy=remedy)
    return cells[columns[0]], cells[columns[1]]


def _values(line: str, *, keys: tuple[str, str]) -> Pair:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        remedy = 'One object a line is expected: {"source": "...", "target": "..."}.'
        raise UserError(f"not JSON ({error})", remedy=remedy) from None
    if not isinstance(row, dict):
        raise UserError("no JSON object", remedy='Expected: {"source": "...", "target": "..."}.')
    return _value(row, keys[0]), _value(row, keys[1])


def _keys(row: dict[str, object]) -> list[str]:
    """Return the keys of an object, those of objects in it behind a dot."""
    found: list[str] = []
    for key, value in row.items():
        found += [f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key]
    return sorted(found)


def _value(row: dict[str, object], key: str) -> str:
    """Return the text under a key, on one line: a line feed inside it becomes a space.

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
        fact = f"{key!r} is not text but {json.dumps(text)[:40]}"
        raise UserError(fact, remedy="Put it in quotes, or leave the line out.")
    if _NO_TEXT.search(text):
        fact = f"{key!r} holds a NUL character or half a surrogate pair"
        raise UserError(fact, remedy="Remove it, or leave the line out.")
    return text.replace("\r\n", " ").replace("\n", " ")
