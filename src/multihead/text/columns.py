"""Columns of a table, or keys of objects, that hold the two sides of a corpus, by their names."""

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.text import tatoeba
from multihead.text.delimited import Row, rows_of
from multihead.text.languages import language_code, primary

_SIDES = (
    ("source", "target"),
    ("src", "tgt"),
    ("src", "trg"),
    ("source_text", "target_text"),
    ("input", "output"),
    ("text", "translation"),
)
"""Names of the two sides in common use."""
_HEADINGS = frozenset(
    (*(name for names in _SIDES for name in names), "", "id", "no", "number", "index", "score", "split")
)
"""Names of columns other than languages, in lower case; pandas gives its index the name ""."""
_LISTED = 12
"""Columns that an error lists."""
_ROWS = 20
"""First rows that decide on the columns."""
SAMPLE = 1 << 22
"""Characters, from the beginning, that decide on quotes."""


class Layout(NamedTuple):
    """Indices of the columns of both sides, from 0, whether a header precedes, and whether TSV has quotes."""

    source: int = 0
    target: int = 1
    header: tuple[str, ...] = ()
    quoted: bool = False


def sample_lines(lines: Iterator[str]) -> list[str]:
    """Return the first lines, of about ``SAMPLE`` characters."""
    sample: list[str] = []
    size = 0
    for line in lines:
        sample.append(line)
        size += len(line)
        if size > SAMPLE:
            break
    return sample


def table_layout(data: DataSettings, sample: Sequence[str], path: str, kind: str) -> Layout:
    """Return the layout of a table whose columns are not named, from its first lines.

    Args:
        data: the languages.
        sample: the first lines.
        path: the file, for errors.
        kind: "tsv" or "csv".

    Raises:
        UserError: a malformed row; a header that leaves the choice open; a file of Tatoeba without its other.
    """
    if tatoeba.is_sentences(sample):
        fact = "sentences of Tatoeba, without their translations"
        remedy = "Name its links too: --src sentences.csv links.csv --src-lang deu --tgt-lang eng."
        raise UserError(fact, place=path, remedy=remedy)
    quoted = kind == "tsv" and has_quotes(sample)
    rows = list(islice(_cells(rows_of(iter(sample), path, kind, quoted=quoted)), _ROWS))
    if not rows:
        return Layout(quoted=quoted)
    header, others = tuple(cell.strip() for cell in rows[0]), rows[1:]
    plain = _is_header(header) and sum(map(_is_header, others)) <= len(others) // 4
    if choice := _choose(header, data) if plain or _names_languages(header, data) else None:
        return Layout(*choice, header, quoted)
    if plain:
        raise _unclear_sides(header, f"{path}:1")
    if len(header) == 4 and all(len(row) == 4 and row[0].isdecimal() and row[2].isdecimal() for row in rows):
        return Layout(1, 3, quoted=quoted)  # sentence pairs of Tatoeba: id, text, id, text
    if len(header) == 3 and all(row[2:] and row[2].startswith("CC-BY") for row in rows):
        # manythings.org: English, its translation, attribution
        backwards = primary(data.target_language) == "en" or primary(data.source_language) not in ("", "en")
        return Layout(1, 0, quoted=quoted) if backwards else Layout(quoted=quoted)
    return Layout(quoted=quoted)


def _cells(rows: Iterator[Row]) -> Iterator[list[str]]:
    return (cells for _, cells in rows if cells)


def choose_fields(data: DataSettings, names: Sequence[str], place: str) -> tuple[str, str]:
    """Return the names of both sides: those of the settings, or else those that fit the languages.

    Args:
        data: the named fields and the languages.
        names: columns, or keys; ``translation.de`` for a nested one.
        place: named by an error.

    Raises:
        UserError: the names leave the choice open.
    """
    if data.source_field or data.target_field:
        return data.source_field or "source", data.target_field or "target"
    choice = _choose([name.strip() for name in names], data)
    if choice is None:
        raise _unclear_sides(names, place)
    return names[choice[0]], names[choice[1]]


def has_quotes(lines: Sequence[str]) -> bool:
    """Return whether tab-separated lines are quoted as CSV is: written again as CSV, they are the same."""
    if not any('"' in line for line in lines):
        return False
    reader = csv.reader((f"{line}\n" for line in lines), delimiter="\t", strict=True)
    rows, end = [], 0
    try:
        for row in reader:
            rows.append(row)
            end = reader.line_num
    except csv.Error:
        if reader.line_num < len(lines):
            return False  # else the sample ends inside of a cell
    if len({len(row) for row in rows if row}) != 1:
        return False
    text = "".join(f"{line}\n" for line in lines[:end])
    return '"' in text and text in (_write(rows, csv.QUOTE_MINIMAL), _write(rows, csv.QUOTE_ALL))


def _write(rows: Sequence[Sequence[str]], quoting: Literal[0, 1]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n", quoting=quoting)
    writer.writerows(rows)
    return text.getvalue()


def _is_header(cells: Sequence[str]) -> bool:
    return len(cells) > 1 and all(cell.lower() in _HEADINGS or language_code(cell) for cell in cells)


def _names_languages(names: Sequence[str], data: DataSettings) -> bool:
    codes = {primary(name) for name in names}
    return {primary(data.source_language), primary(data.target_language)} <= codes - {""}


def _choose(names: Sequence[str], data: DataSettings) -> tuple[int, int] | None:
    """Return the indices of the names of both sides; None if they are not clear."""
    wanted = [primary(code) for code in (data.source_language, data.target_language)]
    codes = [primary(language_code(name.rpartition(".")[2])) for name in names]
    sides = [[number for number, code in enumerate(codes) if code and code == want] for want in wanted]
    if all(len(side) == 1 for side in sides):
        return sides[0][0], sides[1][0]
    lower = [name.lower() for name in names]
    for source, target in _SIDES:
        if lower.count(source) == lower.count(target) == 1:
            return lower.index(source), lower.index(target)
    languages = [number for number, code in enumerate(codes) if code]
    if len(languages) > 2:
        languages = [number for number in languages if lower[number] not in _HEADINGS]
    if len(languages) != 2 or codes[languages[0]] == codes[languages[1]]:
        return None
    first, second = languages
    if (wanted[0] and wanted[0] == codes[second]) or (wanted[1] and wanted[1] == codes[first]):
        first, second = second, first
    fits = all(not want or want == codes[side] for want, side in zip(wanted, (first, second), strict=True))
    return (first, second) if fits else None


def _unclear_sides(names: Sequence[str], place: str) -> UserError:
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    remedy = "Name its languages (--source-language de --target-language en), or its columns: "
    remedy += "--data.source_field NAME --data.target_field NAME."
    return UserError(f"two sides are not clear among its columns ({listed})", place=place, remedy=remedy)
