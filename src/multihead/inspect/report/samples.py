"""What a model in training wrote at its validations, one sample after the other."""

from collections.abc import Sequence

from multihead.inspect.report.markup import Child, Markup, tag
from multihead.inspect.report.parts import card, folded
from multihead.inspect.report.sentences import marked

MOST_STEPS = 8
"""Validations of which samples are shown, the last one among them."""
FIELDS = ("source     ", "reference  ", "output     ")
"""How samples.txt tells the lines of a translation apart."""

Sample = tuple[str, str, str]
"""(source, reference, output)"""


def samples_card(blocks: Sequence[tuple[int, str]]) -> Markup:
    """Return samples over time: translations sentence by sentence, other texts validation by validation.

    Args:
        blocks: (update, samples), in order; see ``Run.samples``.
    """
    told = _spread([(step, text) for step, text in blocks if text.strip()])
    if not told:
        return Markup()
    title = "Samples over time"
    last = translations(told[-1][1])
    if last is None:
        return card(title, [_text(step, text, open_=step == told[-1][0]) for step, text in reversed(told)])
    earlier = [(step, translations(text) or []) for step, text in told]
    return card(
        title,
        tag("ol", [_translation(one, earlier) for one in last], class_="sentences"),
        lead="Underlined: words that the reference does not have there.",
    )


def _spread(blocks: Sequence[tuple[int, str]]) -> Sequence[tuple[int, str]]:
    """At most so many of them, evenly, the first and the last among them."""
    if len(blocks) <= MOST_STEPS:
        return blocks
    return [blocks[round(i * (len(blocks) - 1) / (MOST_STEPS - 1))] for i in range(MOST_STEPS)]


def translations(text: str) -> list[Sample] | None:
    """Return the translations of a validation; None where the samples are something else."""
    lines = [line for line in text.split("\n") if line]
    groups = [lines[i : i + 3] for i in range(0, len(lines), 3)]
    found = []
    for group in groups:
        # A field may be empty, and its line then ends where the name does.
        fields = [
            line[len(name) :]
            for line, name in zip(group, FIELDS, strict=False)
            if line.startswith(name.strip())
        ]
        if len(fields) != len(FIELDS):
            return None
        found.append((fields[0], fields[1], fields[2]))
    return found


def _translation(one: Sample, earlier: Sequence[tuple[int, Sequence[Sample]]]) -> Markup:
    source, reference, _ = one
    outputs = [(step, output) for step, samples in earlier for s, r, output in samples if (s, r) == one[:2]]
    rows: list[Child] = [
        [tag("dt", f"update {step:,}"), tag("dd", list(marked(output, reference)), dir="auto")]
        for step, output in dict(outputs).items()
    ]
    return tag(
        "li",
        tag(
            "dl",
            tag("dt", "source"),
            tag("dd", source, class_="given", dir="auto"),
            tag("dt", "reference"),
            tag("dd", reference, class_="given", dir="auto"),
            rows,
            class_="sentence",
        ),
    )


def _text(step: int, text: str, *, open_: bool) -> Markup:
    lines = [[line, Markup("\n")] for line in text.split("\n")]
    return folded(f"update {step:,}", tag("pre", lines), open_=open_)
