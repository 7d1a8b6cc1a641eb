"""Verdicts on a sample of a corpus, for a warning before training."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from multihead.data.cleaning.verdicts import EXPLANATION, REASONS, Reason, judge

BLOCKS, BLOCK = 30, 64
"""Blocks of a sample, and consecutive pairs of a block, which reveal a shift."""
WARNED: dict[Reason, float] = {
    "swapped": 0.01,
    "script": 0.01,
    "language": 0.01,
    "noise": 0.01,
    "misaligned": 0.01,
    "unlikely": 0.05,
}
"""Minimum share of the sample for a warning, by reason."""
NOTHING_IN_COMMON = (
    "the words of the source tell nothing of those of the target; does each line belong to its counterpart?"
)


def doubts(pairs: Iterator[tuple[str, str]], total: int) -> list[str]:
    """Return a line for each reason to doubt the ``total`` pairs, judged by a sample."""
    sample = list(_blocks(pairs, total))
    judgement = judge(sample)
    counts = Counter(judgement.reasons.tolist())
    shares = {reason: counts[REASONS.index(reason)] / max(1, len(sample)) for reason in WARNED}
    messages = [
        f"about {100 * share:.0f} % of {len(sample):,} sampled pairs are {reason}: {EXPLANATION[reason]};"
        " `multihead clean` lists them"
        for reason, share in shares.items()
        if share >= WARNED[reason]
    ]
    return [*messages, *([NOTHING_IN_COMMON] if judgement.unrelated else [])]


def _blocks(pairs: Iterator[tuple[str, str]], total: int) -> Iterator[tuple[str, str]]:
    """Yield all pairs of a small corpus, or evenly spaced blocks of a larger one."""
    if total <= BLOCKS * BLOCK:
        yield from pairs
        return
    done = 0
    for number in range(BLOCKS):
        start = number * (total - BLOCK) // (BLOCKS - 1)
        yield from islice(pairs, start - done, start - done + BLOCK)
        done = start + BLOCK
