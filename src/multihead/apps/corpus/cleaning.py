"""Cleaning of a corpus: pairs kept and dropped, each dropped one with its line and reason."""

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
"""Dropped pairs that a report shows of each reason."""
PASSAGES, CLOSE = 10, 5
"""Passages of misaligned pairs that a report shows; pairs closer than this are one passage."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Dropped:
    """A pair that is dropped.

    Attributes:
        number: of the pair, from 1 across all files.
        reason: why.
        odds: log-odds that its two sides belong together.
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
        dropped: those to drop, in order.
        passages: of misaligned pairs: the first and the last number, and the shift of the targets.
        kept_although: pairs that had a reason to be dropped and are kept by request, by reason.
        unrelated: whether the sides seem to have nothing to do with each other.
    """

    pairs: Sequence[Pair]
    dropped: Sequence[Dropped]
    passages: Sequence[tuple[int, int, int]]
    kept_although: Mapping[Reason, int]
    unrelated: bool = False

    def kept(self) -> Iterator[Pair]:
        """Yield the pairs that are kept, in order."""
        gone = {one.number for one in self.dropped}
        return (pair for number, pair in enumerate(self.pairs, start=1) if number not in gone)

    def counts(self) -> dict[Reason, int]:
        """Return the number of dropped pairs of each reason that has any."""
        found = {reason: sum(one.reason == reason for one in self.dropped) for reason in REASONS}
        return {reason: count for reason, count in found.items() if count}

    def report(self) -> str:
        """Return counts, and a few examples of each reason, evenly spaced over the corpus."""
        kept = len(self.pairs) - len(self.dropped)
        lines = [f"{len(self.pairs):,} pairs read, {kept:,} kept, {len(self.dropped):,} dropped"]
        for reason, count in self.counts().items():
            lines.append(f"{reason}: {count:,} ({EXPLANATION[reason]})")
            own = [one for one in self.dropped if one.reason == reason]
            for one in own[:: -(-len(own) // EXAMPLES)]:
                note = f" ({one.note})" if one.note else ""
                lines.append(f"  {one.number}{note}: {_short(one.pair[0])} | {_short(one.pair[1])}")
        if self.passages:
            lines += self._shown_passages()
        for reason, count in self.kept_although.items():
            lines.append(f"{reason}: {count:,} kept by request")
        if self.unrelated:
            lines.append(f"caution: {NOTHING_IN_COMMON}")
        return "\n".join(lines)

    def _shown_passages(self) -> list[str]:
        longest = sorted(self.passages, key=lambda one: one[0] - one[1])[:PASSAGES]
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
        keep: reasons that drop nothing.
        keep_numbers: pairs, from 1, that are kept whatever the verdict.
        judgement: the verdicts; None: those of ``judge``.
        progress: called with the progress of each stage.

    Raises:
        UserError: an unknown reason; nothing would be kept.
    """
    if unknown := [reason for reason in keep if reason not in REASONS]:
        raise UserError(
            f'"{unknown[0]}" is no reason', place="--keep", remedy=f"Reasons: {', '.join(REASONS)}."
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
        counts = Counter(one.reason for one in dropped)
        shown = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        fact = f"no pair would be kept ({shown})"
        remedy = "Are these the right files? --keep REASON spares a kind of pairs."
        first, last, shift = max(_passages(judgement), key=lambda one: one[1] - one[0], default=(0, 0, 0))
        if last - first > len(pairs) // 2:
            remedy = f"Shift one file by a line: each source belongs to the target {_where(shift)}."
        raise UserError(fact, place="the corpus", remedy=remedy)
    return Cleaned(pairs, dropped, _passages(judgement), spared, judgement.unrelated)


def _passages(judgement: Judgement) -> list[tuple[int, int, int]]:
    """Return the runs of pairs that are shifted alike."""
    found: list[tuple[int, int, int]] = []
    marked = judgement.reasons == REASONS.index("misaligned")
    for index in np.flatnonzero(marked).tolist():
        shift = int(judgement.moved[index])
        if found and found[-1][2] == shift and index - found[-1][1] < CLOSE:
            found[-1] = (found[-1][0], index + 1, shift)
        else:
            found.append((index + 1, index + 1, shift))
    return found


def _where(shift: int) -> str:
    return "of the next line" if shift > 0 else "of the last line"


def _short(text: str, most: int = 70) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
