"""A sweep's table as an HTML page that needs no other file."""

from collections.abc import Sequence
from html import escape

from multihead.workflows.sweep.plan import Sweep
from multihead.workflows.sweep.running import Row
from multihead.workflows.sweep.table import agreement, cells

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #1a1a1a; background: #fff; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #ddd; text-align: left; white-space: nowrap; }
th { position: sticky; top: 0; background: #f4f4f4; font-weight: 600; }
td.number { text-align: right; }
tr.failed td { background: #fdecea; }
tr.base td:first-child { font-weight: 600; }
@media (prefers-color-scheme: dark) {
  body { color: #eee; background: #161616; } th { background: #262626; } th, td { border-color: #383838; }
  tr.failed td { background: #4a1f1c; }
}
"""


def to_html(sweep: Sweep, rows: Sequence[Row]) -> str:
    """Return the page."""
    told = cells(rows)
    head = "".join(f'<th scope="col">{escape(_heading(column))}</th>' for column in (told[0] if told else ()))
    body = "\n".join(
        f'<tr class="{row.state}{" base" if row.member.name == sweep.base else ""}">'
        + "".join(map(_cell, one.values()))
        + "</tr>"
        for row, one in zip(rows, told, strict=True)
    )
    sentences = "".join(f"<p>{escape(sentence)}</p>\n" for sentence in agreement(sweep, rows))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(sweep.name)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(sweep.name)}</h1>
<p>{escape(sweep.about)}</p>
<div class="table">
<table>
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table>
</div>
{sentences}</body>
</html>
"""


def _heading(column: str) -> str:
    return column.replace("_", " ")


def _cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"
