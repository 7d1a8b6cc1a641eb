"""F1 of labelled spans in tags such as B-PER, I-PER, O (Tjong Kim Sang and De Meulder 2003, "conlleval")."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Span = tuple[int, int, str]
"""First word, the word after the last, and the label."""


@dataclass(frozen=True)
class SpanScores:
    """Counts of spans: in the reference, predicted, and equal in extent and label."""

    true: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """Fraction of the predicted spans that are correct."""
        return self.correct / max(1, self.predicted)

    @property
    def recall(self) -> float:
        """Fraction of the reference's spans that are predicted."""
        return self.correct / max(1, self.true)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.correct / max(1, self.true + self.predicted)


def are_spans(tags: Iterable[str]) -> bool:
    """Return True if all tags have the form O, B-LABEL or I-LABEL, and one has a label."""
    names = set(tags)
    return names > {"O"} and all(name[:2] in ("B-", "I-") for name in names - {"O"})


def spans(tags: Sequence[str]) -> list[Span]:
    """Return the spans of a sentence. An I- tag begins a span if it does not continue one of its label."""
    out: list[Span] = []
    start, label = 0, ""
    for place, tag in enumerate([*tags, "O"]):
        continues = tag.startswith("I-") and tag[2:] == label
        if label and not continues:
            out.append((start, place, label))
            label = ""
        if tag != "O" and not continues:
            start, label = place, tag[2:]
    return out


def span_scores(true: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> SpanScores:
    """Return the scores of predicted tags, sentence by sentence.

    Raises:
        ValueError: the numbers of sentences differ.
    """
    counts = [0, 0, 0]
    for reference, output in zip(true, predicted, strict=True):
        expected, actual = set(spans(reference)), set(spans(output))
        counts = [counts[0] + len(expected), counts[1] + len(actual), counts[2] + len(expected & actual)]
    return SpanScores(*counts)
