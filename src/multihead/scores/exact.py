"""Exact match: the fraction of outputs equal to their references."""

from collections.abc import Sequence

from multihead.scores.pairs import check


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return the fraction of outputs, 0 to 1, equal to their references, ignoring white space at the ends.

    Raises:
        UserError: no sentences, or another number of references.
    """
    check(hypotheses, references)
    pairs = zip(hypotheses, references, strict=True)
    return sum(hypothesis.strip() == reference.strip() for hypothesis, reference in pairs) / len(hypotheses)
