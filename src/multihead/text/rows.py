"""Pairs in the rows of a file that holds both sides: TSV, CSV or JSONL."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.text.columns import Layout, choose_fields, has_quotes, sample_lines, table_layout
from multihead.text.delimited import Row, rows_of
from multihead.text.lines import empty, read_lines

Pair = tuple[str, str]

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
    sample = sample_lines(lines)
    if not sample:
        raise empty(path)
    lines = chain(sample, lines)
    if kind == "jsonl":
        yield from _json_pairs(path, lines, _json_fields(data, sample, path))
        return
    layout = _layout(data, sample, path, kind)
    yield from _table_pairs(data, path, rows_of(lines, path, kind, quoted=layout.quoted), layout)


def is_inferred(data: DataSettings, path: str, kind: str) -> bool:
    """Return whether the content of a file decides how it is read; raises as ``read_rows``."""
    sample = sample_lines(read_lines(path, data.encoding))
    if kind == "jsonl":
        named = data.source_field or "source", data.target_field or "target"
        return _json_fields(data, sample, path) != named
    return _layout(data, sample, path, kind) != Layout()


def remarks_on_columns(data: DataSettings, path: str, kind: str) -> Iterator[str]:
    """Yield remarks about a table whose columns are not named, one line each; raises as ``read_rows``."""
    if data.source_field or data.target_field:
        return
    sample = sample_lines(read_lines(path, data.encoding))
    layout = _layout(data, sample, path, kind)
    if layout.header:
        names = layout.header[layout.source], layout.header[layout.target]
        yield f"{path}: columns {names[0]} and {names[1]} are read, by its header"
        return
    first = next(rows_of(iter(sample), path, kind, quoted=layout.quoted), (1, []))[1]
    if len(first) > 2:
        numbers = f"{layout.source + 1} and {layout.target + 1}"
        yield f"{path} has {len(first)} columns; {numbers} are read (data.source_field, data.target_field)"


# --- tables -------------------------------------------------------------------------------------------


def _layout(data: DataSettings, sample: Sequence[str], path: str, kind: str) -> Layout:
    """Return the layout of a table; of one whose columns are named, whether it is quoted."""
    if data.source_field or data.target_field:
        return Layout(quoted=kind == "tsv" and has_quotes(sample))
    return table_layout(data, sample, path, kind)


def _table_pairs(data: DataSettings, path: str, rows: Iterator[Row], layout: Layout) -> Iterator[Pair]:
    source, target = layout.source, layout.target
    if data.source_field or data.target_field:
        source, target = _columns(data, path, rows)
    elif layout.header:
        next((cells for _, cells in rows if cells), None)
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
    """Return the indices, from 0, of the named source and target columns.

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


def _json_fields(data: DataSettings, sample: Sequence[str], path: str) -> tuple[str, str]:
    """Return the keys of both sides, those that are named or those that the first object has."""
    first = next(((number, line) for number, line in enumerate(sample, start=1) if line.strip()), None)
    if data.source_field or data.target_field or first is None:
        return data.source_field or "source", data.target_field or "target"
    place = f"{path}:{first[0]}"
    try:
        return choose_fields(data, _keys(_object(first[1])), place)
    except UserError as error:
        raise UserError(error.fact, place=place, remedy=error.remedy) from None


def _json_pairs(path: str, lines: Iterator[str], keys: tuple[str, str]) -> Iterator[Pair]:
    for number, line in enumerate(lines, start=1):
        try:
            yield _values(line, keys=keys) if line and not line.isspace() else ("", "")
        except UserError as error:
            raise UserError(error.fact, place=f"{path}:{number}", remedy=error.remedy) from None


def _values(line: str, *, keys: tuple[str, str]) -> Pair:
    row = _object(line)
    return _value(row, keys[0]), _value(row, keys[1])


def _object(line: str) -> dict[str, object]:
    remedy = 'Write one object a line: {"source": "...", "target": "..."}.'
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON ({error})", remedy=remedy) from None
    if not isinstance(row, dict):
        raise UserError("not a JSON object", remedy=remedy)
    return row


def _keys(row: dict[str, object]) -> list[str]:
    """Return the keys of an object; a nested object's keys as ``outer.inner``."""
    keys: list[str] = []
    for key, value in row.items():
        keys += [f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key]
    return keys


def _value(row: dict[str, object], key: str) -> str:
    """Return the text under a key, its line feeds replaced by spaces.

    ``translation.de`` is the key ``de`` of the object under ``translation``.
    """
    outer, dot, inner = key.partition(".")
    if dot and key not in row and isinstance(below := row.get(outer), dict):
        return _value(below, inner)
    if key not in row:
        keys = ", ".join(map(repr, sorted(_keys(row)))) or "none"
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
