"""Translations of the same sentences by each run, with differences and alignments."""

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from multihead.inspect.maps.alignment import CAUTION, Alignment
from multihead.inspect.report.content import RunFacts, TestSetResults, TranslatedExample
from multihead.inspect.report.lines import colour
from multihead.inspect.report.maps import alignment_map
from multihead.inspect.report.markup import Child, SafeHtml, tag
from multihead.inspect.report.parts import card
from multihead.inspect.report.words import say


def sentences_card(runs: Sequence[RunFacts], test: TestSetResults, number: int) -> SafeHtml:
    """Return the example sentences; the reader chooses their order.

    Args:
        runs: all runs.
        test: the test set.
        number: index of the test set, which makes element ids unique.
    """
    list_id = f"sentences-{number}"
    examples = tag(
        "ol", [_example(runs, example) for example in test.examples], class_="sentences", id=list_id
    )
    left = test.pairs - len(test.examples)
    several = len(runs) > 1
    lead = say("Underlined words differ from the reference. On the right: sentence-level chrF.")
    if left > 0:
        counts = f"{left:,}", f"{test.pairs:,}"
        lead += (
            say(" Omitted: {} of {} sentences, on which the runs differ less.", *counts)
            if several
            else say(" Omitted: {} of {} sentences, whose output is closer to the reference.", *counts)
        )
    title = (
        say("Sentences on which the runs differ most")
        if several
        else say("Sentences farthest from their reference")
    )
    return card(title, _chooser(runs, list_id), examples, lead=lead)


def _chooser(runs: Sequence[RunFacts], list_id: str) -> SafeHtml:
    first = say("largest difference") if len(runs) > 1 else say("farthest from the reference")
    options = [("spread", first)]
    for i, run in enumerate(runs[1:], start=1):
        options += [(f"up{i}", say("{} better than {}", run.name, runs[0].name))]
        options += [(f"down{i}", say("{} better than {}", runs[0].name, run.name))]
    options += [("length", say("longest source")), ("order", say("order of the test set"))]
    select = tag("select", [tag("option", text, value=key) for key, text in options], data_sorts=list_id)
    return tag("div", tag("label", say("show first: "), select), class_="controls", hidden=True)


def _keys(example: TranslatedExample) -> dict[str, float]:
    keys = {"spread": example.spread, "length": len(example.source.split()), "order": -example.number}
    for i, score in enumerate(example.chrf[1:], start=1):
        keys |= {f"up{i}": score - example.chrf[0], f"down{i}": example.chrf[0] - score}
    return {key: round(value, 2) for key, value in keys.items()}


def _example(runs: Sequence[RunFacts], example: TranslatedExample) -> SafeHtml:
    return tag(
        "li",
        tag(
            "dl",
            tag("dt", say("source, line {}", f"{example.number:,}")),
            tag("dd", example.source, class_="given", dir="auto"),
            tag("dt", say("reference")),
            tag("dd", example.reference, class_="given", dir="auto"),
            [
                [
                    tag("dt", tag("i", class_=f"chip {colour(i)}"), run.name),
                    tag("dd", list(mark_differences(output, example.reference)), dir="auto"),
                    tag("dd", f"{score:.1f}", class_="n"),
                ]
                for i, (run, output, score) in enumerate(
                    zip(runs, example.outputs, example.chrf, strict=True)
                )
            ],
            class_="sentence",
        ),
        data_keys=json.dumps(_keys(example)),
    )


def mark_differences(output: str, reference: str) -> Iterator[Child]:
    """Yield the words of an output, with ``<mark>`` around words that differ from the reference."""
    words, expected = output.split(), reference.split()
    if not words:
        yield tag("mark", say("(empty)"))
    matcher = SequenceMatcher(None, expected, words, autojunk=False)
    for kind, _, _, start, end in matcher.get_opcodes():
        if start == end:
            continue
        text = " ".join(words[start:end])
        yield text if kind == "equal" else tag("mark", text)
        yield " "


def alignments_card(runs: Sequence[RunFacts], test: TestSetResults) -> SafeHtml:
    """Return the alignments of a few sentences, with the runs side by side."""
    if not any(map_ for example in test.aligned for map_ in example.alignments):
        return SafeHtml()
    examples = [
        tag(
            "div",
            tag("p", example.source, class_="given", dir="auto"),
            tag("div", [_map(run, i, example.alignments[i]) for i, run in enumerate(runs)], class_="maps"),
            class_="aligned",
        )
        for example in test.aligned
    ]
    lead = say(
        "Rows: output words (queries); columns: source words (keys). Mean over the heads of the most "
        f"informative layer. {CAUTION}"
    )
    return card(say("Attention alignments"), examples, lead=lead)


def _map(run: RunFacts, number: int, alignment: Alignment | None) -> SafeHtml:
    name = tag("figcaption", tag("i", class_=f"chip {colour(number)}"), run.name)
    if alignment is None:
        return tag(
            "figure",
            name,
            tag("p", say("No attention over the source, only a fixed-length vector."), class_="none"),
        )
    if not alignment.matrix_TS.size:
        return tag("figure", name, tag("p", say("The translation is empty."), class_="none"))
    return tag("figure", name, alignment_map(alignment, f"alignment of {run.name}"))
