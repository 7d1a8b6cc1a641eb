"""How one training went, as a page: report.html of a run folder."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from multihead.attention_maps.alignment import CAUTION
from multihead.inspect.page.shell import Page
from multihead.inspect.report.content import Event, Looked, RunFacts, facts
from multihead.inspect.report.curves import of_one
from multihead.inspect.report.maps import alignment_map
from multihead.inspect.report.markup import Child, Markup, join, tag
from multihead.inspect.report.parts import card, duration, facts_table, folded, report
from multihead.inspect.report.samples import samples_card
from multihead.run import Run
from multihead.settings import tasks

LOWER = ("loss", "perplexity", "bits_per_character")
"""Measures of which less is better."""
NAMES = {"bleu": "BLEU", "chrf": "chrF", "f1": "F1", "bits_per_character": "bits a character"}


def training_page(run: Run, parameters: int | None = None, looked: Sequence[Looked] = ()) -> Page:
    """Return what a run folder tells of its training, whatever its task.

    Args:
        run: the run.
        parameters: of its model; None: not known.
        looked: validation sentences, and where the trained model looked.
    """
    told = facts(run, run.folder.resolve().name, parameters)
    made, unit = run.environment, tasks.speed_unit(run.recipe.task)
    main: list[Child] = [
        tag("h1", told.name),
        tag("p", _state(run, told), class_="sub"),
        _tiles(told, unit),
        tag("div", of_one(told.events, unit), class_="two"),
        _looked(looked),
        samples_card(list(run.samples())),
        card("Data", _data(made.get("data", {}))),
        card("Settings", folded("all of recipe.toml", _settings(run))),
        card("Machine and versions", _machine(made)),
    ]
    return report(
        told.name,
        "report of a training",
        main,
        tag("p", "Made by multihead at each validation, and at the end."),
    )


def _state(run: Run, told: RunFacts) -> str:
    recipe = run.recipe
    ended = [event for event in told.events if event.get("event") == "end"]
    how = f"{told.kind}, {recipe.task}; update {told.step:,} of {recipe.training.steps:,}"
    return f"{how}; the model is: {ended[-1].get('weights')}" if ended else how


def _tiles(told: RunFacts, unit: str) -> Markup:
    tiles = [*_best(told.events), *_effort(told, unit)]
    return tag(
        "dl", [tag("div", tag("dt", n), tag("dd", v, tag("small", s))) for n, v, s in tiles], class_="tiles"
    )


def _best(events: Sequence[Event]) -> Iterator[tuple[str, str, str]]:
    """Yield the best value of each measure, and when it was reached."""
    seen = [event for event in events if event.get("event") == "validation"]
    for key in dict.fromkeys(key for event in seen for key in event):
        values = [
            (value, int(event["step"]))
            for event in seen
            if isinstance(value := event.get(key), float) and math.isfinite(value)
        ]
        if values and key in ("loss", "perplexity", "bits_per_character", "accuracy", "bleu", "chrf", "f1"):
            value, step = (min if key in LOWER else max)(values, key=lambda pair: pair[0])
            yield NAMES.get(key, key), f"{value:.4g}", f"best, at update {step:,}"


def _effort(told: RunFacts, unit: str) -> Iterator[tuple[str, str, str]]:
    if told.parameters is not None:
        yield "parameters", f"{told.parameters:,}", told.kind
    if told.seconds:
        an_epoch = f"{duration(told.seconds_an_epoch)} an epoch" if told.seconds_an_epoch else "in updates"
        yield "time", duration(told.seconds), an_epoch
        tokens = max((event.get("tokens", 0) for event in told.events), default=0)
        if tokens:
            yield "speed", f"{tokens / told.seconds:,.0f}", f"{unit} a second"


def _looked(looked: Sequence[Looked]) -> Markup:
    figures = [
        tag(
            "figure",
            tag("figcaption", one.source, dir="auto"),
            alignment_map(one.alignment, f"alignment of: {one.source}"),
        )
        for one in looked
        if one.alignment.matrix_TS.size
    ]
    if not figures:
        return Markup()
    lead = f"Rows: output words (queries); columns: source words (keys). {CAUTION}"
    return card("Where the trained model looks", tag("div", figures, class_="maps"), lead=lead)


def _data(data: Mapping[str, Any]) -> Markup:
    numbers = [
        (key.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
        for key, value in data.items()
        if isinstance(value, int | str) and key != "fingerprint"
    ]
    files = [
        (str(one.get("name")), f"{one.get('bytes', 0):,} bytes, SHA-256 {str(one.get('sha256'))[:12]}…")
        for one in data.get("files", ())
    ]
    return join([facts_table([*numbers, *_cleaning(data.get("cleaning"))]), facts_table(files)])


def _cleaning(cleaning: Mapping[str, Any] | None) -> Iterator[tuple[str, Child]]:
    if not cleaning:
        return
    yield "pairs read", f"{cleaning['read']:,}"
    for reason, count in cleaning["dropped"].items():
        first = cleaning.get("first", {}).get(reason)
        yield (
            f"dropped: {reason.replace('_', ' ')}",
            f"{count:,}" + (f" (first: pair {first:,})" if first else ""),
        )
    yield "pairs kept", f"{cleaning['kept']:,}"


def _settings(run: Run) -> Markup:
    sections: dict[str, list[tuple[str, Child]]] = {}
    for key, value in run.recipe.values().items():
        section, _, name = key.rpartition(".")
        sections.setdefault(section, []).append((name, _spelled(value)))
    shown = [
        tag("section", tag("h3", f"[{name}]" if name else "recipe"), facts_table(rows))
        for name, rows in sections.items()
    ]
    return tag("div", shown, class_="sections")


def _spelled(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_spelled, value)) or "–"
    return (
        "–" if value is None or value == "" else str(value).lower() if isinstance(value, bool) else str(value)
    )


def _machine(made: Mapping[str, Any]) -> Markup:
    machine, versions = dict(made.get("machine", {})), made.get("versions", {})
    rows = [
        (name.replace("_", " ").replace("gib", "(GiB)"), _spelled(value))
        for name, value in machine.items()
        if value not in (None, "", [])
    ]
    return facts_table([*rows, *((name, str(version)) for name, version in versions.items())])
