"""Minimum Bayes risk: of the outputs found, the one most like all others, not the likeliest.

What is likeliest may be odd; what many likely outputs agree on seldom is (Kumar and Byrne 2004, eq. 1;
Eikema and Aziz 2022).
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from multihead.generation.translation import Output

ORDER = 4
"""The longest n-grams that are compared, as in BLEU."""

# Writing without spaces would be one long word: its signs count singly.
_WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|\w+|[^\w\s]")


def by_consensus(outputs: Sequence[Output], *, sampled: bool) -> list[Output]:
    """Return the outputs by expected likeness to all of them, most like first; equals keep their order.

    The likeness of two is BLEU of one as the translation and the other as the reference, n-grams beyond
    single words counted one too often so that none is ever missing (Lin and Och 2004, sec. 4).

    Args:
        outputs: of one line.
        sampled: they were drawn by their probability, and count alike. Else each counts by its probability.
    """
    texts = [_NGrams.of(output.text) for output in outputs]
    likeliest = max((output.log_probability for output in outputs), default=0.0)
    weights = [1.0 if sampled else math.exp(output.log_probability - likeliest) for output in outputs]
    expected = [
        math.fsum(weight * _likeness(text, other) for other, weight in zip(texts, weights, strict=True))
        for text in texts
    ]
    order = sorted(range(len(outputs)), key=lambda number: -expected[number])
    return [outputs[number] for number in order]


@dataclass(frozen=True, slots=True)
class _NGrams:
    """A text's n-grams, those of every order by themselves."""

    counts: tuple[Counter[tuple[str, ...]], ...]
    length: int

    @classmethod
    def of(cls, text: str) -> Self:
        words = _WORD.findall(text)
        return cls(
            tuple(
                Counter(zip(*(words[start:] for start in range(n)), strict=False))
                for n in range(1, ORDER + 1)
            ),
            len(words),
        )


def _likeness(text: _NGrams, reference: _NGrams) -> float:
    """Sentence BLEU between 0 and 1 (Papineni et al. 2002, sec. 2.3), smoothed; 1 for two equal texts."""
    if text.counts == reference.counts:
        return 1.0
    matches = [
        sum(min(count, theirs[gram]) for gram, count in ours.items())
        for ours, theirs in zip(text.counts, reference.counts, strict=True)
    ]
    if not matches[0]:
        return 0.0
    totals = [max(0, text.length - n) for n in range(ORDER)]
    precisions = [matches[0] / totals[0]]
    precisions += [(match + 1) / (total + 1) for match, total in zip(matches[1:], totals[1:], strict=True)]
    brevity = min(0.0, 1 - reference.length / text.length)
    return math.exp(brevity + math.fsum(map(math.log, precisions)) / ORDER)
