"""Score table of compared runs, BLEU by source length, and differing settings."""

from collections.abc import Sequence

from multihead.inspect.report.content import RunFacts, TestSetResults
from multihead.inspect.report.lines import Scale, Series, colour, legend, line_chart
from multihead.inspect.report.markup import Child, SafeHtml, tag
from multihead.inspect.report.parts import card, duration, fold, scrolling, table
from multihead.inspect.report.words import say
from multihead.scores import Comparison, Interval, LengthBucket, format_perplexity

FEW = 30
"""Number of sentences below which a bucket's BLEU is unreliable."""
SPAN = 130.0
"""Width of an interval plot in pixels."""


def scores_card(runs: Sequence[RunFacts], test: TestSetResults) -> SafeHtml:
    """Return the score table of all runs on a test set."""
    several = len(runs) > 1
    head = [
        say("run"),
        say("parameters"),
        say("updates"),
        say("time per epoch"),
        say("perplexity"),
        say("per character"),
        say("BLEU, 95 % interval"),
        "BLEU",
    ]
    head += [say("lower-cased"), "chrF"] + ([say("versus the first")] if several else [])
    intervals = [
        (scores.cased["bleu"].system, scores.lowercase["bleu"].system, scores.cased["chrf"].system)
        for scores in test.runs
    ]
    low = min(bleu.score - bleu.half_width for bleu, _, _ in intervals)
    high = max(bleu.score + bleu.half_width for bleu, _, _ in intervals)
    scale = Scale(low, high if high > low else low + 1, 6, SPAN - 6)
    highest = [max(interval.score for interval in column) for column in zip(*intervals, strict=True)]
    lowest = min(scores.perplexity_character for scores in test.runs)
    rows = [
        tag(
            "tr",
            tag("th", tag("i", class_=f"chip {colour(i)}"), run.name, tag("small", run.kind), scope="row"),
            tag("td", "?" if run.parameters is None else f"{run.parameters:,}", class_="n"),
            tag("td", f"{run.step:,}", class_="n"),
            tag("td", "–" if run.seconds_an_epoch is None else duration(run.seconds_an_epoch), class_="n"),
            tag("td", format_perplexity(scores.perplexity), class_="n"),
            tag(
                "td",
                format_perplexity(scores.perplexity_character),
                class_="n best" if several and scores.perplexity_character == lowest else "n",
            ),
            tag("td", _interval_plot(intervals[i][0], scale, i)),
            [
                _number(interval, best=several and interval.score == best)
                for interval, best in zip(intervals[i], highest, strict=True)
            ],
            _difference(i, scores.cased["bleu"]) if several else None,
        )
        for i, (run, scores) in enumerate(zip(runs, test.runs, strict=True))
    ]
    score_table = tag(
        "table",
        tag(
            "thead",
            tag(
                "tr",
                [
                    tag("th", name, scope="col", class_="n" if 0 < i != 6 else None)
                    for i, name in enumerate(head)
                ],
            ),
        ),
        tag("tbody", rows),
        class_="scores",
    )
    return card(
        say("Scores on {}, {} pairs", test.name, f"{test.pairs:,}"),
        scrolling(score_table, "scores"),
        lead=_explanation(test, several=several),
    )


def _number(interval: Interval, *, best: bool) -> SafeHtml:
    pm = tag("span", f" ± {interval.half_width:.2f}", class_="pm")
    return tag("td", f"{interval.score:.2f}", pm, class_="n best" if best else "n")


def _interval_plot(interval: Interval, scale: Scale, number: int) -> SafeHtml:
    left, right = scale(interval.score - interval.half_width), scale(interval.score + interval.half_width)
    return tag(
        "svg",
        tag("line", x1=0, x2=SPAN, y1=11, y2=11, class_="track"),
        tag("line", x1=left, x2=right, y1=11, y2=11),
        tag("circle", cx=scale(interval.score), cy=11, r=5),
        viewBox=f"0 0 {SPAN:.0f} 22",
        class_=f"whisker {colour(number)}",
        role="img",
        aria_label=f"{interval.score:.2f}, plus or minus {interval.half_width:.2f}",
    )


def _difference(number: int, comparison: Comparison) -> SafeHtml:
    if number == 0:
        return tag("td", "–", class_="n")
    difference = comparison.system.score - comparison.baseline.score
    if not comparison.significant:
        return tag(
            "td",
            f"{difference:+.2f}",
            tag("span", say(" p = {}, not significant", f"{comparison.p_value:.3f}"), class_="pm"),
            class_="n",
        )
    p = f" p = {comparison.p_value:.3f}"
    return tag(
        "td",
        tag("b", f"{difference:+.2f}", class_="good" if difference > 0 else "bad"),
        tag("span", p, class_="pm"),
        class_="n",
    )


def _explanation(test: TestSetResults, *, several: bool) -> str:
    first = test.runs[0]
    text = say(
        "BLEU and chrF2 by sacreBLEU ({}; {}); ± is half the width of the 95 % interval from 1,000 bootstrap "
        "samples. Perplexity per target token "
        "is comparable only between runs with the same vocabulary; perplexity per reference character is "
        "always comparable.",
        first.cased["bleu"].signature,
        first.cased["chrf"].signature,
    )
    if several:
        text += say(" Versus the first: difference in BLEU, with paired bootstrap (Koehn 2004).")
    return text


def length_card(runs: Sequence[RunFacts], test: TestSetResults) -> SafeHtml:
    """Return BLEU by source length, with one line per run."""
    buckets = test.runs[0].by_length
    series = [
        Series(
            run.name,
            [(float(i), bucket.bleu.value) for i, bucket in enumerate(scores.by_length)],
            number,
            frozenset(i for i, bucket in enumerate(scores.by_length) if bucket.sentences < FEW),
            [
                say("{} words, {} sentences", _range(bucket), f"{bucket.sentences:,}")
                for bucket in scores.by_length
            ],
        )
        for number, (run, scores) in enumerate(zip(runs, test.runs, strict=True))
    ]
    marks = [(float(i), _range(bucket), f"n = {bucket.sentences:,}") for i, bucket in enumerate(buckets)]
    chart = line_chart(
        say("BLEU by length"), series, x_label=say("source length in words"), x_ticks=marks, from_zero=True
    )
    rows: list[list[Child]] = [
        [
            _range(bucket),
            f"{bucket.sentences:,}",
            *(f"{scores.by_length[i].bleu.value:.2f}" for scores in test.runs),
        ]
        for i, bucket in enumerate(buckets)
    ]
    numbers = scrolling(
        table([say("words"), say("sentences"), *(run.name for run in runs)], rows), say("BLEU by length")
    )
    return card(
        say("BLEU by source length"),
        legend([run.name for run in runs]),
        chart,
        fold(say("as a table"), numbers),
        lead=say(
            "A fixed-length vector must encode the whole sentence, so models without attention lose quality "
            "on long sentences (Bahdanau et al. 2015, fig. 2)."
        )
        + (say(" Rings mark fewer than {} sentences.", FEW) if any(line.hollow for line in series) else ""),
    )


def _range(bucket: LengthBucket) -> str:
    if bucket.longest is None:
        return f"≥ {bucket.shortest}"
    return f"≤ {bucket.longest}" if bucket.shortest == 0 else f"{bucket.shortest}–{bucket.longest}"


def differences_card(runs: Sequence[RunFacts]) -> SafeHtml:
    """Return the settings in which the runs differ, in a folded table."""
    keys = dict.fromkeys(key for run in runs for key in run.settings)
    differing = [key for key in keys if len({run.settings.get(key) for run in runs}) > 1]
    if not differing:
        return SafeHtml()
    rows: list[list[Child]] = [[key, *(run.settings.get(key, "–") for run in runs)] for key in differing]
    settings = scrolling(table([say("setting"), *(run.name for run in runs)], rows), "settings")
    return card(say("Settings"), fold(say("{} settings differ between the runs", len(differing)), settings))
