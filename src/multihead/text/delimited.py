"""Reader of tables: TSV, whose tabs always separate, and CSV as spreadsheets write it, with quotes."""

import csv
from collections.abc import Iterator
from itertools import chain, islice

from multihead.errors import UserError
from multihead.text.lines import empty, file_kind, read_lines
from multihead.text.separators import SAMPLED, separator

Row = tuple[int, list[str]]
"""Line number, from 1, and cells; a blank row has none."""


def read_table(path: str, encoding: str = "utf-8") -> Iterator[Row]:
    """Yield the rows of a file, read as CSV if that is its extension, else as TSV.

    Raises:
        UserError: see :func:`rows_of`, ``text.lines.read_lines``; the file is empty.
    """
    row = None
    for row in rows_of(read_lines(path, encoding), path):
        yield row
    if row is None:
        raise empty(path)


def rows_of(lines: Iterator[str], path: str, kind: str = "", *, quoted: bool = False) -> Iterator[Row]:
    """Yield the rows of a table. Line ends in a quoted cell of CSV become spaces.

    Args:
        lines: the lines of the file.
        path: the file's name.
        kind: "csv" or "tsv"; "": csv if that is the extension.
        quoted: cells of TSV are quoted as those of CSV.

    Raises:
        UserError: a row of CSV is malformed, or has more or fewer cells than the first.
    """
    if (kind or file_kind(path).removeprefix(".")) == "csv":
        return _csv_rows(lines, path)
    if quoted:
        return _csv_rows(lines, path, "\t")
    return (
        (number, [] if _is_blank(line) else line.split("\t")) for number, line in enumerate(lines, start=1)
    )


def _is_blank(line: str) -> bool:
    return not line or line.isspace()


def _csv_rows(lines: Iterator[str], path: str, delimiter: str = "") -> Iterator[Row]:
    sample = list(islice(lines, SAMPLED))
    delimiter = delimiter or separator(sample)
    ended = (line + "\n" for line in chain(sample, lines))
    reader = csv.reader(ended, delimiter=delimiter, strict=True)
    width = 0
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            fact = f"not a row of CSV ({str(error).partition(' - ')[0]})"
            remedy = "Is a quote missing? Save the table again as CSV, or tab-separated as .tsv."
            raise UserError(fact, place=f"{path}:{number}", remedy=remedy) from None
        if cells is None:
            return
        if all(map(_is_blank, cells)):
            yield number, []
            continue
        width = width or len(cells)
        if len(cells) != width:
            fact = f'{len(cells)} cells between "{delimiter}", but the first row has {width}'
            remedy = "Quote texts that contain the separator, as spreadsheets do, or save the table as .tsv."
            raise UserError(fact, place=f"{path}:{number}", remedy=remedy)
        yield number, [cell.strip("\n").replace("\r\n", " ").replace("\n", " ") for cell in cells]
