"""Report of one training: report.html of a run folder."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from multihead.inspect.maps.alignment import CAUTION
from multihead.inspect.page.shell import HtmlPage
from multihead.inspect.report.content import AlignedSentence, Event, RunFacts, facts
from multihead.inspect.report.curves import of_one
from multihead.inspect.report.maps import alignment_map
from multihead.inspect.report.markup import Child, SafeHtml, join, tag
from multihead.inspect.report.parts import card, duration, facts_table, fold, report
from multihead.inspect.report.samples import samples_card
from multihead.inspect.report.words import say, translate_known
from multihead.recipe import tasks
from multihead.run import Run
from multihead.system import plugins

LOWER = ("loss", "perplexity", "bits_per_character")
"""Metrics for which lower is better."""
NAMES = {"bleu": "BLEU", "chrf": "chrF", "f1": "F1", "ap": "AP", "bits_per_character": "bits per character"}


def training_page(
    run: Run, parameters: int | None = None, alignments: Sequence[AlignedSentence] = ()
) -> HtmlPage:
    """Return the report of a training, for any task.

    Args:
        run: the run.
        parameters: number of parameters; None: unknown.
        alignments: validation sentences with alignments of the trained model.
    """
    about = facts(run, run.folder.resolve().name, parameters)
    environment, unit = run.environment, tasks.get_task(run.recipe.task).speed_unit
    main: list[Child] = [
        tag("h1", about.name),
        tag("p", _state(run, about), class_="sub"),
        _tiles(about, unit),
        tag("div", of_one(about.events, unit), class_="two"),
        _alignments(alignments),
        samples_card(list(run.samples())),
        card(say("Data"), _data(environment.get("data", {}))),
        card(say("Settings"), fold(say("full recipe.toml"), _settings(run))),
        card(say("Machine and versions"), _machine(environment)),
    ]
    return report(
        about.name,
        say("training report"),
        main,
        tag("p", say("Written by multihead after each validation and at the end of training.")),
    )


def _state(run: Run, about: RunFacts) -> str:
    recipe = run.recipe
    ended = [event for event in about.events if event.get("event") == "end"]
    task = plugins.display_name(recipe.task)
    progress = about.kind, translate_known(task), f"{about.step:,}"
    if ended:
        return say("{}, {}; {} updates; final weights: {}", *progress, ended[-1].get("weights"))
    if recipe.training.minutes:
        return say("{}, {}; update {}", *progress)
    return say("{}, {}; update {} of {}", *progress, f"{recipe.training.steps:,}")


def _tiles(about: RunFacts, unit: str) -> SafeHtml:
    tiles = [*_best(about.events), *_cost(about, unit)]
    return tag(
        "dl", [tag("div", tag("dt", n), tag("dd", v, tag("small", s))) for n, v, s in tiles], class_="tiles"
    )


def _best(events: Sequence[Event]) -> Iterator[tuple[str, str, str]]:
    """Yield the best value of each metric, and its update."""
    validations = [event for event in events if event.get("event") == "validation"]
    for key in dict.fromkeys(key for event in validations for key in event):
        values = [
            (value, int(event["step"]))
            for event in validations
            if isinstance(value := event.get(key), float) and math.isfinite(value)
        ]
        if values and key in (*LOWER, "accuracy", "bleu", "chrf", "f1", "ap"):
            value, step = (min if key in LOWER else max)(values, key=lambda pair: pair[0])
            yield NAMES.get(key, translate_known(key)), f"{value:.4g}", say("best, at update {}", f"{step:,}")


def _cost(about: RunFacts, unit: str) -> Iterator[tuple[str, str, str]]:
    if about.parameters is not None:
        yield say("parameters"), f"{about.parameters:,}", about.kind
    if about.seconds:
        per_epoch = about.seconds_an_epoch
        yield (
            say("training time"),
            duration(about.seconds),
            say("{} per epoch", duration(per_epoch)) if per_epoch else say("without validation"),
        )
        tokens = max((event.get("tokens", 0) for event in about.events), default=0)
        if tokens:
            yield say("speed"), f"{tokens / about.seconds:,.0f}", say("{} per second", translate_known(unit))


def _alignments(alignments: Sequence[AlignedSentence]) -> SafeHtml:
    figures = [
        tag(
            "figure",
            tag("figcaption", aligned.source, dir="auto"),
            alignment_map(aligned.alignment, f"alignment of: {aligned.source}"),
        )
        for aligned in alignments
        if aligned.alignment.matrix_TS.size
    ]
    if not figures:
        return SafeHtml()
    lead = say(f"Rows: output words (queries); columns: source words (keys). {CAUTION}")
    return card(say("Attention of the trained model"), tag("div", figures, class_="maps"), lead=lead)


def _data(data: Mapping[str, Any]) -> SafeHtml:
    numbers = [
        (translate_known(key.replace("_", " ")), f"{value:,}" if isinstance(value, int) else str(value))
        for key, value in data.items()
        if isinstance(value, int | str) and key != "fingerprint"
    ]
    files = [
        (
            str(file.get("name")),
            say("{} bytes, SHA-256 {}…", f"{file.get('bytes', 0):,}", str(file.get("sha256"))[:12]),
        )
        for file in data.get("files", ())
    ]
    return join([facts_table([*numbers, *_cleaning(data.get("cleaning"))]), facts_table(files)])


def _cleaning(cleaning: Mapping[str, Any] | None) -> Iterator[tuple[str, Child]]:
    if not cleaning:
        return
    yield say("pairs read"), f"{cleaning['read']:,}"
    for reason, count in cleaning["dropped"].items():
        first = cleaning.get("first", {}).get(reason)
        yield (
            say("dropped: {}", translate_known(reason.replace("_", " "))),
            say("{} (first: pair {})", f"{count:,}", f"{first:,}") if first else f"{count:,}",
        )
    yield say("pairs kept"), f"{cleaning['kept']:,}"


def _settings(run: Run) -> SafeHtml:
    sections: dict[str, list[tuple[str, Child]]] = {}
    for key, value in run.recipe.values().items():
        section, _, name = key.rpartition(".")
        sections.setdefault(section, []).append((name, _spell(value)))
    tables = [
        tag("section", tag("h3", f"[{name}]" if name else "recipe"), facts_table(rows))
        for name, rows in sections.items()
    ]
    return tag("div", tables, class_="sections")


def _spell(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_spell, value)) or "–"
    return (
        "–" if value is None or value == "" else str(value).lower() if isinstance(value, bool) else str(value)
    )


def _machine(environment: Mapping[str, Any]) -> SafeHtml:
    machine, versions = dict(environment.get("machine", {})), environment.get("versions", {})
    rows = [
        (translate_known(name.replace("_", " ").replace("gib", "(GiB)")), _spell(value))
        for name, value in machine.items()
        if value not in (None, "", [])
    ]
    return facts_table([*rows, *((name, str(version)) for name, version in versions.items())])
