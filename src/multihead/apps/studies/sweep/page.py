"""A sweep's results as a self-contained HTML page."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from multihead.apps.studies.sweep.bars import Bars
from multihead.apps.studies.sweep.headlines import base_of, by_length, changes, scores
from multihead.apps.studies.sweep.plan import Sweep
from multihead.apps.studies.sweep.running import MemberRow
from multihead.apps.studies.sweep.table import agreement, cells

STYLE = Path(__file__).with_name("page.css")

Column = tuple[str, list[str]]
"""Heading, and a cell for each member, as HTML."""


def to_html(sweep: Sweep, rows: Sequence[MemberRow]) -> str:
    """Return the page: changed settings and main scores, then all numbers."""
    sentences = "".join(f"<p>{escape(sentence)}</p>\n" for sentence in agreement(sweep, rows))
    main = scores(rows)[0] if scores(rows) and base_of(sweep, rows) else None
    bars = Bars(main, sweep, rows) if main else None
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(sweep.name)}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<h1>{escape(sweep.name)}</h1>
<p>{escape(sweep.about)}</p>
{_table(_headlines(sweep, rows, bars), sweep, rows)}{bars.legend() if bars else ""}{sentences}<details>
<summary>All numbers</summary>
{_table(_everything(rows), sweep, rows)}</details>
</body>
</html>
"""


def _headlines(sweep: Sweep, rows: Sequence[MemberRow], bars: Bars | None) -> list[Column]:
    """Return the headline columns: changes, first score, bars, reference, other scores, size and time."""
    titles = {score: _heading(score.metric, score.test) for score in scores(rows)}
    titles |= {score: _heading("bleu", f"{words} words") for words, score in by_length(rows).items()}
    ours = [(title, [_number(score.of(row)) for row in rows]) for score, title in titles.items()]
    against: list[Column] = []
    if bars:
        bar_cells = [f"<td>{bars.of(row)}</td>" for row in rows]
        against = [(_heading(bars.score.metric, f"difference from {sweep.base}"), bar_cells)]
    theirs = [
        (_heading(name, "reference"), [_number(row.member.reference.get(name)) for row in rows])
        for name in dict.fromkeys(name for row in rows for name in row.member.reference)
    ]
    return [
        ("changes", [_changes(row, sweep) for row in rows]),
        *ours[:1],
        *against,
        *theirs,
        *ours[1:],
        ("parameters", [_cell(row.result.get("parameters", "")) for row in rows]),
        ("minutes", [_number(row.result.get("minutes")) for row in rows]),
    ]


def _everything(rows: Sequence[MemberRow]) -> list[Column]:
    table = cells(rows)
    names = list(table[0])[1:] if table else []
    return [(_heading(name), [_cell(line[name]) for line in table]) for name in names]


def _table(columns: Sequence[Column], sweep: Sweep, rows: Sequence[MemberRow]) -> str:
    head = "".join(f'<th scope="col">{heading}</th>' for heading, _ in columns)
    body = "".join(
        f'<tr class="{row.state}{" base" if row.member.name == sweep.base else ""}">{_member(row)}'
        f"{''.join(column[number] for _, column in columns)}</tr>\n"
        for number, row in enumerate(rows)
    )
    return (
        f'<div class="table">\n<table>\n<thead><tr><th scope="col">member</th>{head}</tr></thead>\n'
        f"<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )


def _member(row: MemberRow) -> str:
    state = "" if row.state == "done" else f" <small>{row.state}</small>"
    return f'<th scope="row">{escape(row.member.name)}{state}</th>'


def _changes(row: MemberRow, sweep: Sweep) -> str:
    settings = [
        f"{key.rpartition('.')[2]}\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{_value(value)}"
        for key, value in changes(row, sweep).items()
    ]
    return f'<td class="changed">{escape(row.error or ", ".join(settings))}</td>'


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _heading(name: str, above: str = "") -> str:
    over = f"<small>{escape(above)}</small>" if above else ""
    return over + escape(name.replace("_", " "))


def _number(value: float | None) -> str:
    return f'<td class="number">{"" if value is None else f"{value:,.2f}"}</td>'


def _cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"
