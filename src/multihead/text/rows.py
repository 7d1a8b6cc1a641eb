"""Pairs in the rows of a file that holds both sides: TSV, CSV or JSONL."""

import json
import re
from collections.abc import Iterator
from itertools import chain
from shlex import quote

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.text.delimited import Row, rows_of
from multihead.text.languages import is_language
from multihead.text.lines import empty, read_lines

Pair = tuple[str, str]

_HEADINGS = frozenset(
    ("source", "target", "src", "tgt", "trg", "input", "output", "text", "translation", "id", "no", "number")
)
"""Column names other than languages, in lower case."""
_INVALID = re.compile("[\0\ud800-\udfff]")
"""NUL and lone surrogates: JSON can escape them, but no text file can hold them."""


def read_rows(data: DataSettings, path: str, kind: str) -> Iterator[Pair]:
    """Yield the pairs of a file. A blank line is an empty pair, which cleaning counts.

    Args:
        data: columns or keys, and encoding.
        path: the file.
        kind: "tsv", "csv" or "jsonl".

    Raises:
        UserError: the file is missing, empty or unreadable, or a row lacks a field.
    """
    lines = read_lines(path, data.encoding)
    first = next(lines, None)
    if first is None:
        raise empty(path)
    lines = chain([first], lines)
    if kind == "jsonl":
        yield from _json_pairs(data, path, lines)
    else:
        yield from _table_pairs(data, path, rows_of(lines, path, kind))


def remarks_on_columns(data: DataSettings, path: str, kind: str) -> Iterator[str]:
    """Yield remarks about a table whose columns are not named, one line each; raises as ``read_rows``."""
    if data.source_field or data.target_field:
        return
    first = next(rows_of(read_lines(path, data.encoding), path, kind), (1, []))[1]
    if len(first) > 1 and all(_is_heading(cell) for cell in first):
        source, target = map(quote, map(str.strip, first)) if len(first) == 2 else ("NAME", "NAME")
        fact = f"{path}:1 ({', '.join(map(str.strip, first))}) seems to be a header, but is read as a pair"
        yield f"caution: {fact}; name its columns: --data.source_field {source} --data.target_field {target}"
    elif len(first) > 2:
        yield f"{path} has {len(first)} columns; 1 and 2 are read (data.source_field, data.target_field)"


def _is_heading(cell: str) -> bool:
    return cell.strip().lower() in _HEADINGS or is_language(cell.strip())


# --- tables -------------------------------------------------------------------------------------------


def _table_pairs(data: DataSettings, path: str, rows: Iterator[Row]) -> Iterator[Pair]:
    source, target = _columns(data, path, rows)
    number = 0
    for number, cells in rows:
        if not cells:
            yield "", ""
            continue
        if max(source, target) >= len(cells):
            fact = f"no column {max(source, target) + 1}: the line has {len(cells)}"
            remedy = "Correct the line, or set data.source_field and data.target_field."
            raise UserError(fact, place=f"{path}:{number}", remedy=remedy)
        yield cells[source], cells[target]
    if not number:
        raise empty(path)


def _columns(data: DataSettings, path: str, rows: Iterator[Row]) -> tuple[int, int]:
    """Return the indices, from 0, of the source and target columns.

    If either has a name rather than a number, the first row is a header and is consumed.
    """
    fields = data.source_field or "1", data.target_field or "2"
    header: list[str] = []
    if not all(map(_is_number, fields)):
        header = next(rows, (0, []))[1]
        if not header:
            raise empty(path)
    return _column(fields[0], header, path, "source"), _column(fields[1], header, path, "target")


def _is_number(field: str) -> bool:
    return field.isdecimal() and int(field) > 0


def _column(field: str, header: list[str], path: str, side: str) -> int:
    """Return the index, from 0, of a column given by its number, from 1, or by its name in the header."""
    if _is_number(field):
        return int(field) - 1
    names = [name.strip() for name in header]
    if names.count(field) == 1:
        return names.index(field)
    fact = f'data.{side}_field = "{field}", but the header has '
    fact += "it twice" if field in names else f"the columns {', '.join(names)}"
    remedy = "Give the column's name in the header, or its number from 1."
    raise UserError(fact, place=f"{path}:1", remedy=remedy)


# --- JSON ---------------------------------------------------------------------------------------------


def _json_pairs(data: DataSettings, path: str, lines: Iterator[str]) -> Iterator[Pair]:
    keys = data.source_field or "source", data.target_field or "target"
    for number, line in enumerate(lines, start=1):
        try:
            yield _values(line, keys=keys) if line and not line.isspace() else ("", "")
        except UserError as error:
            raise UserError(error.fact, place=f"{path}:{number}", remedy=error.remedy) from None


def _values(line: str, *, keys: tuple[str, str]) -> Pair:
    remedy = 'Write one object a line: {"source": "...", "target": "..."}.'
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON ({error})", remedy=remedy) from None
    if not isinstance(row, dict):
        raise UserError("not a JSON object", remedy=remedy)
    return _value(row, keys[0]), _value(row, keys[1])


def _keys(row: dict[str, object]) -> list[str]:
    """Return the keys of an object; a nested object's keys as ``outer.inner``."""
    keys: list[str] = []
    for key, value in row.items():
        keys += [f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key]
    return sorted(keys)


def _value(row: dict[str, object], key: str) -> str:
    """Return the text under a key, its line feeds replaced by spaces.

    ``translation.de`` is the key ``de`` of the object under ``translation``.
    """
    outer, dot, inner = key.partition(".")
    if dot and key not in row and isinstance(below := row.get(outer), dict):
        return _value(below, inner)
    if key not in row:
        keys = ", ".join(map(repr, _keys(row))) or "none"
        remedy = f"Set data.source_field and data.target_field (keys here: {keys})."
        raise UserError(f"no key {key!r}", remedy=remedy)
    text = row[key]
    if not isinstance(text, str):
        fact = f"{key!r} is not a string but {json.dumps(text)[:40]}"
        raise UserError(fact, remedy="Quote it, or remove the line.")
    if _INVALID.search(text):
        fact = f"{key!r} contains a NUL character or a lone surrogate"
        raise UserError(fact, remedy="Remove it, or remove the line.")
    return text.replace("\r\n", " ").replace("\n", " ")
