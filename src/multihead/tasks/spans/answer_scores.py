"""Exact match and F1 of answers (Rajpurkar et al. 2016, sec. 6.1, and the evaluation script of SQuAD 2.0)."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class AnswerScores:
    """Mean scores over questions.

    Attributes:
        exact: share of the questions whose answer has exactly the reference's words.
        f1: mean F1 of the words of answer and reference.
        count: number of questions.
        answerable: number of those that have an answer.
    """

    exact: float
    f1: float
    count: int
    answerable: int


def words(answer: str) -> list[str]:
    """Return the words that are compared: in lower case, without ASCII punctuation and English articles."""
    return _ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split()


def exact(answer: str, reference: str) -> bool:
    """Return True if both have the same words in the same order."""
    return words(answer) == words(reference)


def f1(answer: str, reference: str) -> float:
    """Return the harmonic mean of precision and recall over words; 1 or 0 where either has no words."""
    given, wanted = words(answer), words(reference)
    if not given or not wanted:
        return float(given == wanted)
    common = (Counter(given) & Counter(wanted)).total()
    return 2 * common / (len(given) + len(wanted))


def answer_scores(answers: Sequence[str], references: Sequence[str]) -> AnswerScores:
    """Return the scores of answers; "" stands for no answer.

    Raises:
        ValueError: the numbers of answers and references differ.
    """
    pairs = list(zip(answers, references, strict=True))
    count = max(1, len(pairs))
    return AnswerScores(
        sum(exact(*pair) for pair in pairs) / count,
        sum(f1(*pair) for pair in pairs) / count,
        len(pairs),
        sum(bool(reference) for reference in references),
    )
