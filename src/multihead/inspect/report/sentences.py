"""The same sentences translated by each run: what differs, and what each looked at."""

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from multihead.attention_maps.alignment import CAUTION
from multihead.inspect.report.content import Example, OnTest, RunFacts
from multihead.inspect.report.lines import colour
from multihead.inspect.report.maps import alignment_map
from multihead.inspect.report.markup import Child, Markup, tag
from multihead.inspect.report.parts import card


def sentences_card(runs: Sequence[RunFacts], test: OnTest, number: int) -> Markup:
    """Return the examples, to be sorted in several ways.

    Args:
        runs: of all.
        test: the test set.
        number: of the test set, which tells lists apart.
    """
    list_id = f"sentences-{number}"
    shown = tag("ol", [_example(runs, one) for one in test.examples], class_="sentences", id=list_id)
    left = test.pairs - len(test.examples)
    several = len(runs) > 1
    lead = "Underlined: words that the reference does not have there. At the right: chrF of the sentence."
    if left > 0:
        lead += f" {left:,} of {test.pairs:,} sentences, in which "
        lead += (
            "the runs differ less, are left out."
            if several
            else "the output is nearer to the reference, are left out."
        )
    title = "Sentences where the runs differ most" if several else "Sentences farthest from their reference"
    return card(title, _chooser(runs, list_id), shown, lead=lead)


def _chooser(runs: Sequence[RunFacts], list_id: str) -> Markup:
    options = [("spread", "where they differ most" if len(runs) > 1 else "farthest from the reference")]
    for i, run in enumerate(runs[1:], start=1):
        options += [(f"up{i}", f"{run.name} better than {runs[0].name}")]
        options += [(f"down{i}", f"{runs[0].name} better than {run.name}")]
    options += [("length", "longest source"), ("order", "order of the test set")]
    select = tag("select", [tag("option", text, value=key) for key, text in options], data_sorts=list_id)
    return tag("div", tag("label", "first: ", select), class_="controls", hidden=True)


def _keys(one: Example) -> dict[str, float]:
    keys = {"spread": one.spread, "length": len(one.source.split()), "order": -one.number}
    for i, score in enumerate(one.chrf[1:], start=1):
        keys |= {f"up{i}": score - one.chrf[0], f"down{i}": one.chrf[0] - score}
    return {key: round(value, 2) for key, value in keys.items()}


def _example(runs: Sequence[RunFacts], one: Example) -> Markup:
    return tag(
        "li",
        tag(
            "dl",
            tag("dt", f"source, line {one.number:,}"),
            tag("dd", one.source, class_="given", dir="auto"),
            tag("dt", "reference"),
            tag("dd", one.reference, class_="given", dir="auto"),
            [
                [
                    tag("dt", tag("i", class_=f"chip {colour(i)}"), run.name),
                    tag("dd", list(marked(output, one.reference)), dir="auto"),
                    tag("dd", f"{score:.1f}", class_="n"),
                ]
                for i, (run, output, score) in enumerate(zip(runs, one.outputs, one.chrf, strict=True))
            ],
            class_="sentence",
        ),
        data_keys=json.dumps(_keys(one)),
    )


def marked(output: str, reference: str) -> Iterator[Child]:
    """Yield an output's words, those that the reference does not have at this place as ``<mark>``."""
    words, wanted = output.split(), reference.split()
    if not words:
        yield tag("mark", "(nothing)")
    matcher = SequenceMatcher(None, wanted, words, autojunk=False)
    for kind, _, _, start, end in matcher.get_opcodes():
        if start == end:
            continue
        text = " ".join(words[start:end])
        yield text if kind == "equal" else tag("mark", text)
        yield " "


def alignments_card(runs: Sequence[RunFacts], test: OnTest) -> Markup:
    """Return the alignments of a few sentences, the runs side by side."""
    if not any(map_ for one in test.aligned for map_ in one.alignments):
        return Markup()
    shown = [
        tag(
            "div",
            tag("p", one.source, class_="given", dir="auto"),
            tag("div", [_map(run, i, one) for i, run in enumerate(runs)], class_="maps"),
            class_="aligned",
        )
        for one in test.aligned
    ]
    lead = "Rows: output words (queries); columns: source words (keys); of the layer that tells most about "
    return card("Where they look", shown, lead=f"{lead}the source, the mean of its heads. {CAUTION}")


def _map(run: RunFacts, number: int, one: Example) -> Markup:
    name = tag("figcaption", tag("i", class_=f"chip {colour(number)}"), run.name)
    alignment = one.alignments[number]
    if alignment is None:
        return tag(
            "figure",
            name,
            tag("p", "No attention over the source: a fixed vector is all it has.", class_="none"),
        )
    if not alignment.matrix_TS.size:
        return tag("figure", name, tag("p", "It wrote nothing.", class_="none"))
    return tag("figure", name, alignment_map(alignment, f"alignment of {run.name}"))
