"""Selection of the pairs of a corpus: cleaning, deduplication, and the held-out validation set."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multihead.data.build_cache import report_cache_errors
from multihead.data.closed_sets import is_closed
from multihead.data.hashes import are_in, sentence_hash
from multihead.data.plan import first_of_shuffled
from multihead.data.spool import (
    CHUNK,
    Bits,
    HashSpool,
    PairHashes,
    Side,
    UnmarkedHashes,
    at_places,
    counts,
)
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.system.disk import cache_root
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

    def mask(self, role: int) -> Iterator[int]:
        """Yield 1 for each pair with this role, else 0, for ``itertools.compress``."""
        for start in range(0, len(self.roles), CHUNK):
            yield from bytes(self.roles[start : start + CHUNK] == role)

    def count(self, role: int) -> int:
        """Return the number of pairs with this role."""
        chunks = range(0, len(self.roles), CHUNK)
        return sum(int(np.count_nonzero(self.roles[start : start + CHUNK] == role)) for start in chunks)


def select(pairs: Iterable[tuple[str, str]], data: DataSettings, *, hold_out: bool) -> Selection:
    """Assign a role to each pair in one pass over the corpus.

    It holds a byte per pair and no text. Temporary files in the cache folder hold 40 bytes a pair at most.

    Raises:
        UserError: too few pairs are left.
    """
    report = CleaningReport()
    folder = cache_root(data.cache)
    with report_cache_errors(folder), ExitStack() as opened:
        folder.mkdir(parents=True, exist_ok=True)
        whole, sources, targets = (opened.enter_context(HashSpool(folder)) for _ in range(3))
        role_bytes = bytearray()
        for source, target in pairs:
            reason = rejection_reason(source, target, data)
            report.record(reason)
            role_bytes.append(reason is None)
            if reason is None:
                if data.drop_duplicates:
                    whole.append(pair_hash(source, target))
                if hold_out:
                    sources.append(sentence_hash(source))
                    targets.append(sentence_hash(target))
        roles = np.frombuffer(role_bytes, dtype=np.uint8)
        repeated = whole.repeat() if data.drop_duplicates else None
        if repeated:
            _drop_repeated(roles, repeated, report)
        _check_left(roles, report)
        shared = 0
        if hold_out:
            total = Selection(roles, report, 0).count(TRAIN)
            sides = UnmarkedHashes(sources, repeated), UnmarkedHashes(targets, repeated)
            start = 0
            for split in _hold_out(*sides, total, data.valid_fraction, data.seed):
                start = _assign(roles, start, split)
                shared += int(np.count_nonzero(split == DROPPED))
            _check_left(roles, report)
    if data.max_pairs:
        for index in _surplus(roles, data.max_pairs):
            roles[index] = DROPPED
            report.drop("not wanted", index + 1)
    return Selection(roles, report, shared)


def _drop_repeated(roles: NDArray[np.uint8], repeated: Bits, report: CleaningReport) -> None:
    """Drop duplicates; ``repeated`` marks pairs that cleaning has kept, in order."""
    done = 0
    for start in range(0, len(roles), CHUNK):
        places = np.flatnonzero(roles[start : start + CHUNK]) + start
        again = repeated.slice(done, len(places))
        done += len(places)
        for index in places[again]:
            report.drop("duplicate", int(index) + 1)
        roles[places[again]] = DROPPED


def _assign(roles: NDArray[np.uint8], start: int, split: NDArray[np.uint8]) -> int:
    """Assign roles to the next training pairs from a place on; return the place after the last one."""
    while len(split):
        places = np.flatnonzero(roles[start : start + CHUNK] == TRAIN)[: len(split)] + start
        roles[places] = split[: len(places)]
        split = split[len(places) :]
        start = int(places[-1]) + 1 if len(places) and not len(split) else start + CHUNK
    return start


def _surplus(roles: NDArray[np.uint8], most: int) -> Iterator[int]:
    """Yield the training pairs beyond the maximum; the others are evenly spaced over the corpus."""
    total = Selection(roles, CleaningReport(), 0).count(TRAIN)
    if total <= most:
        return
    step = (total - 1) / max(1, most - 1)
    done = 0
    for start in range(0, len(roles), CHUNK):
        places = np.flatnonzero(roles[start : start + CHUNK] == TRAIN)
        near = np.arange(int(done // step), min(most, int((done + len(places)) // step) + 2))
        stay = (near * step).round().astype(np.intp) - done
        stays = np.zeros(len(places), dtype=np.bool_)
        stays[stay[(stay >= 0) & (stay < len(places))]] = True
        yield from (places[~stays] + start).tolist()
        done += len(places)


def _hold_out(
    sources: Side, targets: Side, total: int, fraction: float, seed: int
) -> Iterator[NDArray[np.uint8]]:
    """Hold out validation pairs that share no sentence of either side with training.

    Of randomly drawn candidates, the pairs with the least frequent sentences are held out; usually these
    occur in no other pair. Training pairs that do share a sentence with a held-out pair are dropped. A side
    that is a closed set does not count, see ``closed_sets``.

    Args:
        sources: hashes of the source sentences.
        targets: hashes of the target sentences.
        total: number of pairs.
        fraction: fraction of the pairs to hold out, clamped to 50 to 2,000 pairs and at most half of all.
        seed: seeds the choice of candidates.

    Yields:
        TRAIN, VALID or DROPPED for each pair, in chunks.
    """
    count = max(MIN_HELD_OUT, min(round(fraction * total), MAX_HELD_OUT))
    count = max(1, min(count, total // 2))
    candidates = first_of_shuffled(total, CANDIDATES_PER_PAIR * count, seed, "held out")
    sides = _telling(sources, targets, candidates)
    hashes = [at_places(side, candidates) for side in sides]
    frequency = sum(counts(side, side_hashes) for side, side_hashes in zip(sides, hashes, strict=True))
    best = np.argsort(frequency, kind="stable")[:count]
    rows, held_hashes = candidates[best], [np.sort(side_hashes[best]) for side_hashes in hashes]
    start = 0
    for chunks in zip(*(side.chunks() for side in sides), strict=True):
        touched = np.any(list(map(are_in, held_hashes, chunks)), axis=0)
        roles = np.where(touched, DROPPED, TRAIN).astype(np.uint8)
        end = start + len(roles)
        roles[rows[(rows >= start) & (rows < end)] - start] = VALID
        start = end
        yield roles


def _telling(sources: Side, targets: Side, candidates: NDArray[np.int64]) -> Sequence[Side]:
    """Return the sides that are not closed sets; if both are, the pairs themselves."""
    both = (sources, targets)
    sides = [side for side in both if not is_closed(counts(side, at_places(side, candidates)))]
    return sides or [PairHashes(sources, targets)]


def _check_left(roles: NDArray[np.uint8], report: CleaningReport) -> None:
    """Refuse a selection that leaves nothing to train on."""
    if any(np.any(roles[start : start + CHUNK] == TRAIN) for start in range(0, len(roles), CHUNK)):
        return
    if report.kept == 0:
        fact = f"no pair is left of the {report.read:,} read (dropped: {reasons(report)})"
        remedy = "Check that the files are aligned, and the limits under [data]."
    else:
        pairs = "1 pair is" if report.kept == 1 else f"{report.kept:,} pairs are"
        fact = f"{pairs} too few, or too similar, to hold some out for validation"
        remedy = "Name validation files: data.valid_source and data.valid_target."
    raise UserError(fact, place="data", remedy=remedy)


def reasons(report: CleaningReport) -> str:
    """Return the number of dropped pairs by reason, on one line."""
    return ", ".join(f"{count:,} {reason}" for reason, count in report.to_dict()["dropped"].items())
