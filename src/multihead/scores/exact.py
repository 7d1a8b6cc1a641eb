"""How many outputs are exactly right."""

from collections.abc import Sequence

from multihead.scores.pairs import check


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """The part of the outputs, 0 to 1, that equal their references (spaces at either end aside).

    Raises:
        UserError: no sentences, or not as many references.
    """
    check(hypotheses, references)
    pairs = zip(hypotheses, references, strict=True)
    return sum(hypothesis.strip() == reference.strip() for hypothesis, reference in pairs) / len(hypotheses)
