"""Learning curves of one run, or of several overlaid, as charts."""

from collections.abc import Sequence

from multihead.inspect.curves import CurveLine, points
from multihead.inspect.report.content import Event, RunFacts
from multihead.inspect.report.lines import Series, legend, line_chart
from multihead.inspect.report.markup import SafeHtml, join
from multihead.inspect.report.parts import card
from multihead.inspect.report.words import say, translate_known

Chart = tuple[str, str, tuple[str, ...], bool]
"""(title, kind of event that logs the metric, its names in the event, whether the axis starts at 0)"""

LOSS: Chart = ("Validation loss", "validation", ("loss",), False)
CHARTS: tuple[Chart, ...] = (
    ("Validation BLEU", "validation", ("bleu",), True),
    ("Validation loss (nats per token)", "validation", ("loss",), False),
    ("Training loss (nats per token)", "update", ("nll", "loss"), False),
    ("Validation accuracy", "validation", ("accuracy",), False),
    ("Validation chrF", "validation", ("chrf",), True),
    ("Validation F1", "validation", ("f1",), True),
    ("Validation AP", "validation", ("ap",), True),
    ("Bits per character", "validation", ("bits_per_character",), False),
)


def overlaid(
    runs: Sequence[RunFacts], charts: Sequence[Chart] = CHARTS[:3], settings: Sequence[str] = ()
) -> SafeHtml:
    """Return one card per metric that any run logged, with one line per run.

    Args:
        runs: the runs.
        charts: the metrics.
        settings: name of each run's setting; runs with the same setting are thin lines of one colour.
            Default: each run has its own.
    """
    settings = settings or [run.name for run in runs]
    names = legend([*dict.fromkeys(settings)])
    return join(
        [
            card(say(title), names, _chart(title, runs, settings, event, keys, zero))
            for title, event, keys, zero in charts
            if any(points(run.events, CurveLine(event, keys)) for run in runs)
        ]
    )


def _chart(
    title: str,
    runs: Sequence[RunFacts],
    settings: Sequence[str],
    event: str,
    keys: tuple[str, ...],
    zero: bool,
) -> SafeHtml:
    series, numbers = [], [*dict.fromkeys(settings)]
    for run, setting in zip(runs, settings, strict=True):
        logged = points(run.events, CurveLine(event, keys))
        notes = [say("update {}", f"{step:,}") for step, _ in logged] if event == "validation" else []
        thin = settings.count(setting) > 1
        markers = bool(notes) and len(logged) <= 40 and not thin
        series.append(
            Series(run.name, logged, numbers.index(setting), notes=notes, markers=markers, thin=thin)
        )
    return line_chart(say(title), series, x_label=say("updates"), from_zero=zero)


def of_one(events: Sequence[Event], speed_unit: str) -> SafeHtml:
    """Return the curves of one run: training and validation loss in one chart, then the other metrics."""
    loss = [
        Series(say("training"), points(events, CurveLine("update", ("nll", "loss"))), 0, markers=False),
        Series(say("validation"), points(events, CurveLine("validation", ("loss",))), 1),
    ]
    cards = [_card(say("Loss (nats)"), loss)]
    for title, event, keys, zero in CHARTS:
        if event == "validation" and keys != ("loss",):
            cards.append(
                _card(
                    say(title),
                    [Series(say("validation"), points(events, CurveLine(event, keys)), 1)],
                    zero=zero,
                )
            )
    for title, key in (
        (say("Learning rate"), "rate"),
        (say("Speed ({} per second)", translate_known(speed_unit)), "tokens_per_second"),
    ):
        series = Series(say("training"), points(events, CurveLine("update", (key,))), 0, markers=False)
        cards.append(_card(title, [series], zero=True))
    return join(cards)


def _card(title: str, series: Sequence[Series], *, zero: bool = False) -> SafeHtml:
    lines = [line for line in series if line.points]
    if not lines:
        return SafeHtml()
    names = legend([line.label for line in series]) if len(lines) > 1 else SafeHtml()
    return card(title, names, line_chart(title, lines, x_label=say("updates"), from_zero=zero))
