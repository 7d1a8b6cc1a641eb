"""Learning curves as charts: of one run, or of several overlaid."""

from collections.abc import Sequence

from multihead.inspect.curves import Line, points
from multihead.inspect.report.content import Event, RunFacts
from multihead.inspect.report.lines import Series, legend, line_chart
from multihead.inspect.report.markup import Markup, join
from multihead.inspect.report.parts import card

Chart = tuple[str, str, tuple[str, ...], bool]
"""(title, event that tells it, its names there, begin at 0)"""

CHARTS: tuple[Chart, ...] = (
    ("Validation BLEU", "validation", ("bleu",), True),
    ("Validation loss (nats a token)", "validation", ("loss",), False),
    ("Training loss (nats a token)", "update", ("nll", "loss"), False),
    ("Validation accuracy", "validation", ("accuracy",), False),
    ("Validation chrF", "validation", ("chrf",), True),
    ("Validation F1", "validation", ("f1",), True),
    ("Bits a character", "validation", ("bits_per_character",), False),
)


def overlaid(runs: Sequence[RunFacts], charts: Sequence[Chart] = CHARTS[:3]) -> Markup:
    """Return a card a chart, with a line a run; nothing of what no run tells."""
    named = legend([run.name for run in runs])
    return join(
        [
            card(title, named, _chart(title, runs, event, keys, zero))
            for title, event, keys, zero in charts
            if _told(runs, event, keys)
        ]
    )


def _told(runs: Sequence[RunFacts], event: str, keys: tuple[str, ...]) -> bool:
    return any(points(run.events, Line(event, keys, "", "")) for run in runs)


def _chart(title: str, runs: Sequence[RunFacts], event: str, keys: tuple[str, ...], zero: bool) -> Markup:
    series = []
    for number, run in enumerate(runs):
        known = points(run.events, Line(event, keys, "", ""))
        notes = [f"update {step:,}" for step, _ in known] if event == "validation" else []
        series.append(Series(run.name, known, number, notes=notes, markers=bool(notes) and len(known) <= 40))
    return line_chart(title, series, x_label="updates", from_zero=zero)


def of_one(events: Sequence[Event], speed_unit: str) -> Markup:
    """Return one run's curves: loss of training and validation together, then whatever else is measured."""
    loss = [
        Series("training", points(events, Line("update", ("nll", "loss"), "", "")), 0, markers=False),
        Series("validation", points(events, Line("validation", ("loss",), "", "")), 1),
    ]
    cards = [_card("Loss (nats)", loss)]
    for title, event, keys, zero in CHARTS:
        if event == "validation" and keys != ("loss",):
            cards.append(
                _card(title, [Series("validation", points(events, Line(event, keys, "", "")), 1)], zero=zero)
            )
    for title, key in (
        ("Learning rate", "rate"),
        (f"Speed ({speed_unit} a second)", "tokens_per_second"),
    ):
        series = Series("training", points(events, Line("update", (key,), "", "")), 0, markers=False)
        cards.append(_card(title, [series], zero=True))
    return join(cards)


def _card(title: str, series: Sequence[Series], *, zero: bool = False) -> Markup:
    known = [one for one in series if one.points]
    if not known:
        return Markup()
    named = legend([one.label for one in series]) if len(known) > 1 else Markup()
    return card(title, named, line_chart(title, known, x_label="updates", from_zero=zero))
