"""Selection of the pairs of a corpus: cleaning, deduplication, and the held-out validation set."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multihead.data.hashes import Hashes, are_in, as_hashes, count_in, first_occurrences, sentence_hash
from multihead.data.plan import shuffled
from multihead.errors import UserError
from multihead.settings import DataSettings
from multihead.text.cleaning import CleaningReport, pair_hash, rejection_reason

DROPPED, TRAIN, VALID = 0, 1, 2
MIN_HELD_OUT, MAX_HELD_OUT = 50, 2000
CANDIDATES_PER_PAIR = 20
"""Candidates considered for each held-out pair."""


@dataclass(frozen=True)
class Selection:
    """The role of each pair of a corpus.

    Attributes:
        roles: DROPPED, TRAIN or VALID for each pair read, (N,).
        report: pairs dropped by cleaning, by reason.
        shared: number of training pairs dropped because they share a sentence with a held-out pair.
    """

    roles: NDArray[np.uint8]
    report: CleaningReport
    shared: int

    def mask(self, role: int) -> bytes:
        """Return 1 for each pair with this role, else 0, as bytes for ``itertools.compress``."""
        return bytes(self.roles == role)

    def count(self, role: int) -> int:
        """Return the number of pairs with this role."""
        return int(np.count_nonzero(self.roles == role))


def select(pairs: Iterable[tuple[str, str]], data: DataSettings, *, hold_out: bool) -> Selection:
    """Assign a role to each pair in one pass over the corpus.

    It holds 25 bytes a pair (9 if nothing is held out), and no text.

    Raises:
        UserError: too few pairs are left.
    """
    report = CleaningReport()
    kept = bytearray()
    whole, sources, targets = array("Q"), array("Q"), array("Q")
    for source, target in pairs:
        reason = rejection_reason(source, target, data)
        report.record(reason)
        kept.append(reason is None)
        if reason is None:
            if data.drop_duplicates:
                whole.append(pair_hash(source, target))
            if hold_out:
                sources.append(sentence_hash(source))
                targets.append(sentence_hash(target))

    roles = np.frombuffer(kept, dtype=np.uint8)
    if data.drop_duplicates:
        first = first_occurrences(as_hashes(whole))
        del whole
        for index in np.flatnonzero(roles)[~first]:
            report.drop("duplicate", int(index) + 1)
        roles[roles == TRAIN] = np.where(first, TRAIN, DROPPED)
    _check_left(roles, report)
    shared = 0
    if hold_out:
        unlike = first if data.drop_duplicates else slice(None)
        sides = as_hashes(sources)[unlike], as_hashes(targets)[unlike]
        split = held_out(*sides, data.valid_fraction, data.seed)
        roles[roles == TRAIN] = split
        shared = int(np.count_nonzero(split == DROPPED))
        _check_left(roles, report)
    if data.max_pairs:
        for index in _surplus(roles, data.max_pairs):
            roles[index] = DROPPED
            report.drop("not wanted", int(index) + 1)
    return Selection(roles, report, shared)


def _surplus(roles: NDArray[np.uint8], most: int) -> NDArray[np.intp]:
    """Return the training pairs beyond the maximum; those kept are evenly spaced over the corpus."""
    train = np.flatnonzero(roles == TRAIN)
    stay = np.linspace(0, len(train) - 1, min(most, len(train))).round().astype(np.intp)
    return np.delete(train, stay)


def held_out(sources: Hashes, targets: Hashes, fraction: float, seed: int) -> NDArray[np.uint8]:
    """Hold out validation pairs that share no sentence of either side with training.

    Of randomly drawn candidates, those whose sentences are least frequent are held out; usually these occur
    in no other pair. Training pairs that do share a sentence with a held-out pair are dropped.

    Args:
        sources: hashes of the source sentences, (N,).
        targets: hashes of the target sentences, (N,).
        fraction: fraction of the pairs to hold out, clamped to 50 to 2,000 pairs and at most half of all.
        seed: seeds the choice of candidates.

    Returns:
        TRAIN, VALID or DROPPED for each pair, (N,).
    """
    total = len(sources)
    count = max(MIN_HELD_OUT, min(round(fraction * total), MAX_HELD_OUT))
    count = max(1, min(count, total // 2))
    candidates = shuffled(total, seed, "held out")[: CANDIDATES_PER_PAIR * count]
    frequency = sum(count_in(np.sort(side), side[candidates]) for side in (sources, targets))
    chosen = candidates[np.argsort(frequency, kind="stable")[:count]]
    touched = are_in(np.sort(sources[chosen]), sources) | are_in(np.sort(targets[chosen]), targets)
    roles = np.where(touched, DROPPED, TRAIN).astype(np.uint8)
    roles[chosen] = VALID
    return roles


def _check_left(roles: NDArray[np.uint8], report: CleaningReport) -> None:
    """Refuse a selection that leaves nothing to train on."""
    if np.any(roles == TRAIN):
        return
    if report.kept == 0:
        fact = f"no pair is left of the {report.read:,} read (dropped: {reasons(report)})"
        remedy = "Check that the files are aligned, and the limits under [data]."
    else:
        fact = f"{report.kept:,} pairs are too few, or too similar, to hold some out for validation"
        remedy = "Name validation files: data.valid_source and data.valid_target."
    raise UserError(fact, place="data", remedy=remedy)


def reasons(report: CleaningReport) -> str:
    """Return the number of dropped pairs by reason, on one line."""
    return ", ".join(f"{count:,} {reason}" for reason, count in report.to_dict()["dropped"].items())
