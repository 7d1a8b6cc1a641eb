"""Results as a notebook displays them: tables in HTML, and one line for a user's mistake."""

import html
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Protocol, TypeVar

MAX_ROWS = 50
"""Number of rows displayed."""


class Row(Protocol):
    """A result that fills a row of a table."""

    def row(self) -> Mapping[str, str]:
        """Return the cells by the names of their columns; empty cells may be missing."""
        ...


R = TypeVar("R", bound=Row)


class ResultList(list[R]):
    """A list that a notebook displays as a table."""

    def _repr_html_(self) -> str:
        return html_table(self)


class ResultTable(dict[str, R]):
    """Results by name, which a notebook displays as a table."""

    def _repr_html_(self) -> str:
        return html_table(self.values())


def html_table(results: Iterable[Row]) -> str:
    """Return results as a table in HTML: their first ``MAX_ROWS``, without empty columns."""
    results = list(results)
    rows = [result.row() for result in islice(results, MAX_ROWS)]
    columns = dict.fromkeys(column for row in rows for column, cell in row.items() if cell)
    lines = [
        _line("th", columns),
        *(_line("td", (row.get(column, "") for column in columns)) for row in rows),
    ]
    more = f"<p>{len(results) - len(rows):,} more</p>" if len(results) > len(rows) else ""
    return f"<table>{''.join(lines)}</table>{more}"


def _line(tag: str, cells: Iterable[str]) -> str:
    style = ' style="text-align:left;white-space:pre-wrap"'
    return f"<tr>{''.join(f'<{tag}{style}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


class DisplaysAsTable:
    """A result that a notebook displays as a table of one row."""

    __slots__ = ()

    def row(self) -> Mapping[str, str]:
        """Return the cells by the names of their columns."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html_table([self])
