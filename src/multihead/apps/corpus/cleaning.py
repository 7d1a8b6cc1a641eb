"""Cleaning of a corpus: which pairs to drop, each with its line and reason."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from multihead.data.cleaning.sample import NOTHING_IN_COMMON
from multihead.data.cleaning.verdicts import EXPLANATION, REASONS, Judgement, Reason, judge
from multihead.errors import UserError
from multihead.system.progress import OnProgress

EXAMPLES = 3
"""Number of dropped pairs that a report shows per reason."""
PASSAGES, CLOSE = 10, 5
"""Passages of misaligned pairs that a report shows; pairs closer than this are one passage."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Dropped:
    """A dropped pair.

    Attributes:
        number: the pair's number, from 1 across all files.
        reason: the reason.
        odds: log-odds that its sides belong together.
        note: the number of the pair that a duplicate repeats; "" otherwise.
        pair: its text.
    """

    number: int
    reason: Reason
    odds: float
    note: str
    pair: Pair


@dataclass(frozen=True)
class Cleaned:
    """A corpus with a verdict on each pair.

    Attributes:
        pairs: all pairs.
        dropped: pairs to drop, in order.
        passages: misaligned passages: first and last pair, and the shift of the targets.
        kept_although: number of pairs kept by request despite a reason, by reason.
        unrelated: whether the two sides seem unrelated.
    """

    pairs: Sequence[Pair]
    dropped: Sequence[Dropped]
    passages: Sequence[tuple[int, int, int]]
    kept_although: Mapping[Reason, int]
    unrelated: bool = False

    def kept(self) -> Iterator[Pair]:
        """Yield the remaining pairs, in order."""
        gone = {record.number for record in self.dropped}
        return (pair for number, pair in enumerate(self.pairs, start=1) if number not in gone)

    def counts(self) -> dict[Reason, int]:
        """Return the number of dropped pairs by reason."""
        counts = {reason: sum(pair.reason == reason for pair in self.dropped) for reason in REASONS}
        return {reason: count for reason, count in counts.items() if count}

    def report(self) -> str:
        """Return counts, and a few examples per reason, evenly spaced over the corpus."""
        remaining = len(self.pairs) - len(self.dropped)
        lines = [f"{len(self.pairs):,} pairs read, {remaining:,} kept, {len(self.dropped):,} dropped"]
        for reason, count in self.counts().items():
            lines.append(f"{reason}: {count:,} ({EXPLANATION[reason]})")
            pairs = [pair for pair in self.dropped if pair.reason == reason]
            for pair in pairs[:: -(-len(pairs) // EXAMPLES)]:
                note = f" ({pair.note})" if pair.note else ""
                lines.append(f"  {pair.number}{note}: {_short(pair.pair[0])} | {_short(pair.pair[1])}")
        if self.passages:
            lines += self._shown_passages()
        for reason, count in self.kept_although.items():
            lines.append(f"{reason}: {count:,} kept by request")
        if self.unrelated:
            lines.append(f"caution: {NOTHING_IN_COMMON}")
        return "\n".join(lines)

    def _shown_passages(self) -> list[str]:
        longest = sorted(self.passages, key=lambda passage: passage[0] - passage[1])[:PASSAGES]
        return ["misaligned passages, the longest:"] + [
            f"  pairs {first:,} to {last:,}: each source belongs to the target {_where(shift)}"
            for first, last, shift in longest
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return {
            "read": len(self.pairs),
            "kept": len(self.pairs) - len(self.dropped),
            "dropped": self.counts(),
            "kept although": dict(self.kept_although),
            "unrelated": self.unrelated,
        }


def clean(
    pairs: Sequence[Pair],
    *,
    keep: Collection[str] = (),
    keep_numbers: Collection[int] = (),
    judgement: Judgement | None = None,
    progress: OnProgress | None = None,
) -> Cleaned:
    """Judge a corpus.

    Args:
        pairs: in the order of the files.
        keep: reasons to ignore.
        keep_numbers: pairs, from 1, that are never dropped.
        judgement: the verdicts; None: from ``judge``.
        progress: called with the progress of each stage.

    Raises:
        UserError: an unknown reason; nothing would be kept.
    """
    if unknown := [reason for reason in keep if reason not in REASONS]:
        raise UserError(
            f'"{unknown[0]}" is not a reason', place="--keep", remedy=f"Reasons: {', '.join(REASONS)}."
        )
    judgement = judgement or judge(pairs, progress=progress)
    dropped: list[Dropped] = []
    spared: dict[Reason, int] = {}
    for number, index in enumerate(judgement.reasons.tolist(), start=1):
        if index < 0:
            continue
        reason = REASONS[index]
        if reason in keep or number in keep_numbers:
            spared[reason] = spared.get(reason, 0) + 1
            continue
        twin = int(judgement.twins[number - 1]) + 1
        note = f"like {twin}" if reason == "duplicate" else ""
        dropped.append(Dropped(number, reason, float(judgement.odds[number - 1]), note, pairs[number - 1]))
    if pairs and len(dropped) == len(pairs):
        counts = Counter(pair.reason for pair in dropped)
        summary = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        fact = f"no pair would be kept ({summary})"
        remedy = "Are these the right files? --keep REASON spares a kind of pairs."
        longest = max(_passages(judgement), key=lambda passage: passage[1] - passage[0], default=(0, 0, 0))
        first, last, shift = longest
        if last - first > len(pairs) // 2:
            remedy = f"Shift one file by a line: each source belongs to the target {_where(shift)}."
        raise UserError(fact, place="the corpus", remedy=remedy)
    return Cleaned(pairs, dropped, _passages(judgement), spared, judgement.unrelated)


def _passages(judgement: Judgement) -> list[tuple[int, int, int]]:
    """Return the passages of pairs with the same shift."""
    passages: list[tuple[int, int, int]] = []
    marked = judgement.reasons == REASONS.index("misaligned")
    for index in np.flatnonzero(marked).tolist():
        shift = int(judgement.moved[index])
        if passages and passages[-1][2] == shift and index - passages[-1][1] < CLOSE:
            passages[-1] = (passages[-1][0], index + 1, shift)
        else:
            passages.append((index + 1, index + 1, shift))
    return passages


def _where(shift: int) -> str:
    return "of the next line" if shift > 0 else "of the last line"


def _short(text: str, most: int = 70) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
