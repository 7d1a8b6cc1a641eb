"""Sample outputs of a model at successive validations."""

from collections.abc import Sequence

from multihead.inspect.report.markup import Child, SafeHtml, tag
from multihead.inspect.report.parts import card, fold
from multihead.inspect.report.sentences import mark_differences
from multihead.inspect.report.words import say

MAX_STEPS = 8
"""Number of validations whose samples are shown, including the last."""
FIELDS = ("source     ", "reference  ", "output     ")
"""Prefixes of the lines of a translation in samples.txt."""

Sample = tuple[str, str, str]
"""(source, reference, output)"""


def samples_card(blocks: Sequence[tuple[int, str]]) -> SafeHtml:
    """Return samples over time: translations grouped by sentence, other texts by validation.

    Args:
        blocks: (update, samples), in order; see ``Run.samples``.
    """
    validations = _evenly_spaced([(step, text) for step, text in blocks if text.strip()])
    if not validations:
        return SafeHtml()
    title = say("Samples over time")
    last = translations(validations[-1][1])
    if last is None:
        newest = validations[-1][0]
        return card(title, [_text(step, text, open_=step == newest) for step, text in reversed(validations)])
    by_step = [(step, translations(text) or []) for step, text in validations]
    return card(
        title,
        tag("ol", [_translation(sample, by_step) for sample in last], class_="sentences"),
        lead=say("Underlined words differ from the reference."),
    )


def _evenly_spaced(blocks: Sequence[tuple[int, str]]) -> Sequence[tuple[int, str]]:
    """Return at most ``MAX_STEPS`` blocks, evenly spaced, including the first and the last."""
    if len(blocks) <= MAX_STEPS:
        return blocks
    return [blocks[round(i * (len(blocks) - 1) / (MAX_STEPS - 1))] for i in range(MAX_STEPS)]


def translations(text: str) -> list[Sample] | None:
    """Parse the translations of a validation; return None if the samples are other texts."""
    lines = [line for line in text.split("\n") if line]
    groups = [lines[i : i + 3] for i in range(0, len(lines), 3)]
    out = []
    for group in groups:
        # The line of an empty field has no trailing spaces.
        fields = [
            line[len(name) :]
            for line, name in zip(group, FIELDS, strict=False)
            if line.startswith(name.strip())
        ]
        if len(fields) != len(FIELDS):
            return None
        out.append((fields[0], fields[1], fields[2]))
    return out


def _translation(sample: Sample, by_step: Sequence[tuple[int, Sequence[Sample]]]) -> SafeHtml:
    source, reference, _ = sample
    outputs = [
        (step, output) for step, samples in by_step for s, r, output in samples if (s, r) == sample[:2]
    ]
    rows: list[Child] = [
        [
            tag("dt", say("update {}", f"{step:,}")),
            tag("dd", list(mark_differences(output, reference)), dir="auto"),
        ]
        for step, output in dict(outputs).items()
    ]
    return tag(
        "li",
        tag(
            "dl",
            tag("dt", say("source")),
            tag("dd", source, class_="given", dir="auto"),
            tag("dt", say("reference")),
            tag("dd", reference, class_="given", dir="auto"),
            rows,
            class_="sentence",
        ),
    )


def _text(step: int, text: str, *, open_: bool) -> SafeHtml:
    lines = [[line, SafeHtml("\n")] for line in text.split("\n")]
    return fold(say("update {}", f"{step:,}"), tag("pre", lines), open_=open_)
