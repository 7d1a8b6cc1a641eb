"""Error rates: edit distance to the references, over their length (Levenshtein 1966); and exact matches."""

from collections.abc import Hashable, Sequence

from rapidfuzz.distance import Levenshtein

from multihead.scores.pairs import check


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return the fraction of outputs, 0 to 1, equal to their references, ignoring white space at the ends.

    Raises:
        UserError: no sentences, or another number of references.
    """
    check(hypotheses, references)
    pairs = zip(hypotheses, references, strict=True)
    return sum(hypothesis.strip() == reference.strip() for hypothesis, reference in pairs) / len(hypotheses)


def word_error_rate(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return the percentage of wrong white-space tokens: words, phonemes, or other symbols between spaces.

    Insertions, deletions and substitutions, over the tokens of the references; above 100 for long outputs.

    Raises:
        UserError: no sentences, or another number of references.
    """
    check(hypotheses, references)
    return _rate([text.split() for text in hypotheses], [text.split() for text in references])


def character_error_rate(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return the percentage of wrong characters, as :func:`word_error_rate`; outer spaces are ignored."""
    check(hypotheses, references)
    return _rate([text.strip() for text in hypotheses], [text.strip() for text in references])


def _rate(hypotheses: Sequence[Sequence[Hashable]], references: Sequence[Sequence[Hashable]]) -> float:
    pairs = zip(hypotheses, references, strict=True)
    errors = sum(Levenshtein.distance(hypothesis, reference) for hypothesis, reference in pairs)
    return 100 * errors / max(1, sum(map(len, references)))
