"""A sweep's results as a self-contained HTML page."""

from collections.abc import Sequence
from pathlib import Path

from multihead.apps.studies.sweep.bars import Bars
from multihead.apps.studies.sweep.headlines import base_of, by_length, changes, scores
from multihead.apps.studies.sweep.over_seeds import (
    COLUMNS,
    change_names,
    changes_over_seeds,
    explanation,
    statistics,
)
from multihead.apps.studies.sweep.plan import Sweep
from multihead.apps.studies.sweep.running import MemberRow
from multihead.apps.studies.sweep.table import agreement, cells
from multihead.inspect.report.content import RunFacts
from multihead.inspect.report.curves import LOSS, overlaid
from multihead.inspect.report.markup import Child, SafeHtml, join, tag
from multihead.inspect.report.parts import card, fold, report, scrolling
from multihead.inspect.report.words import say, translate_known

STYLE = Path(__file__).with_name("page.css")

Column = tuple[SafeHtml, list[SafeHtml]]
"""Heading, and a cell for each member."""


def to_html(sweep: Sweep, rows: Sequence[MemberRow], runs: Sequence[RunFacts] = ()) -> str:
    """Return the page: changed settings and main scores, all numbers, and the validation losses in one chart.

    Args:
        sweep: the sweep.
        rows: its members.
        runs: the runs of the members that have begun, by the members' names.
    """
    names = change_names(sweep)
    main = scores(rows)[0] if scores(rows) and base_of(sweep, rows) else None
    bars = Bars(main, sweep, rows) if main else None
    sentences = [tag("p", sentence, class_="lead") for sentence in agreement(sweep, rows)]
    headlines = _table(_headlines(sweep, rows, bars), sweep, rows)
    everything = fold(say("all numbers"), _table(_everything(rows), sweep, rows))
    content = [
        tag("h1", sweep.name),
        tag("p", sweep.about, class_="sub"),
        card(
            say("Results"),
            bars.legend() if bars else None,
            headlines,
            sentences,
            _over_seeds(sweep, rows),
            everything,
        ),
        overlaid(runs, [LOSS], [names[run.name] for run in runs]),
    ]
    foot = tag(
        "p",
        say("Written by multihead whenever a training of the sweep starts or ends, and every minute."),
    )
    return report(sweep.name, say("sweep"), content, foot, styles=[STYLE]).html


def _headlines(sweep: Sweep, rows: Sequence[MemberRow], bars: Bars | None) -> list[Column]:
    """Return the headline columns: changes, first score, bars, reference, other scores, size and time."""
    titles = {score: _heading(score.metric, score.test) for score in scores(rows)}
    lengths = by_length(rows).items()
    titles |= {score: _heading("bleu", say("{} words", words)) for words, score in lengths}
    ours = [(title, [_number(score.of(row)) for row in rows]) for score, title in titles.items()]
    against: list[Column] = []
    if bars:
        difference = _heading(bars.score.metric, say("difference from {}", sweep.base))
        against = [(difference, [tag("td", bars.of(row)) for row in rows])]
    theirs = [
        (_heading(name, say("reference value")), [_number(row.member.reference.get(name)) for row in rows])
        for name in dict.fromkeys(name for row in rows for name in row.member.reference)
    ]
    return [
        (_heading("changes"), [_changes(row, sweep) for row in rows]),
        *ours[:1],
        *against,
        *theirs,
        *ours[1:],
        (_heading("parameters"), [_cell(row.result.get("parameters", "")) for row in rows]),
        (_heading("minutes"), [_number(row.result.get("minutes")) for row in rows]),
    ]


def _over_seeds(sweep: Sweep, rows: Sequence[MemberRow]) -> SafeHtml | None:
    """Return the table of changes over their seeds; None if no change has several."""
    changes = changes_over_seeds(sweep, rows)
    if not changes:
        return None
    seeds = [tag("td", str(len(change.rows)), class_="number") for change in changes]
    columns: list[Column] = [(_heading("seeds"), seeds)]
    for score in scores(rows):
        results = [statistics(score, change, changes) for change in changes]
        for number, column in enumerate(COLUMNS):
            texts = [result.cells()[number] if result else "" for result in results]
            heading = _heading(column, f"{score.metric} {score.test}".strip())
            columns.append((heading, [tag("td", text, class_="number") for text in texts]))
    names = [tag("th", change.name, scope="row") for change in changes]
    classes = ["base" if change.reference else "" for change in changes]
    return join([_grid("change", names, classes, columns), tag("p", explanation(changes), class_="lead")])


def _everything(rows: Sequence[MemberRow]) -> list[Column]:
    table = cells(rows)
    names = list(table[0])[1:] if table else []
    return [(_heading(name), [_cell(line[name]) for line in table]) for name in names]


def _table(columns: Sequence[Column], sweep: Sweep, rows: Sequence[MemberRow]) -> SafeHtml:
    classes = [f"{row.state}{' base' if row.member.name == sweep.base else ''}" for row in rows]
    return _grid("member", [_member(row) for row in rows], classes, columns)


def _grid(
    first: str, names: Sequence[SafeHtml], classes: Sequence[str], columns: Sequence[Column]
) -> SafeHtml:
    """Return a table whose first column has the names of its rows."""
    body = [
        tag("tr", name, [column[number] for _, column in columns], class_=classes[number])
        for number, name in enumerate(names)
    ]
    head = tag("tr", _heading(first), [heading for heading, _ in columns])
    return scrolling(tag("table", tag("thead", head), tag("tbody", body), class_="sweep"), f"{first}s")


def _member(row: MemberRow) -> SafeHtml:
    state = None if row.state == "done" else [" ", tag("small", translate_known(row.state))]
    return tag("th", row.member.name, state, scope="row")


def _changes(row: MemberRow, sweep: Sweep) -> SafeHtml:
    settings = [
        f"{key.rpartition('.')[2]}\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{_value(value)}"
        for key, value in changes(row, sweep).items()
    ]
    return tag("td", row.error or ", ".join(settings), class_="changed")


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _heading(name: str, above: Child = None) -> SafeHtml:
    return tag(
        "th", tag("small", above) if above else None, translate_known(name.replace("_", " ")), scope="col"
    )


def _number(value: float | None) -> SafeHtml:
    return tag("td", None if value is None else f"{value:,.2f}", class_="number")


def _cell(value: object) -> SafeHtml:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return tag("td", f"{value:,}", class_="number")
    return tag("td", str(value))
