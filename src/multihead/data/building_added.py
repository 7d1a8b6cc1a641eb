"""The passes that prepare pairs added to a corpus: without validation sentences, in stores of their own."""

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

from multihead.data.added import Added, Kind
from multihead.data.batches import Pairs
from multihead.data.building import Numbered, Pair, store_pairs, to_lines, with_progress
from multihead.data.directions import Directed
from multihead.data.hashes import as_hashes, first_occurrences, sentence_hash
from multihead.data.store import TokenStore
from multihead.data.vocabularies import Tokenizers
from multihead.errors import UserError
from multihead.system.progress import OnProgress
from multihead.text.cleaning import CleaningReport, pair_hash, rejection_reason

FOLDER = "added-{}"
HELD_OUT_SHARE, LEAST_HELD_OUT, MOST_HELD_OUT = 10, 20, 500
"""One correction in ten is held out, of twenty or more, and no more than 500."""


@dataclass(frozen=True)
class AddedPairs:
    """Prepared pairs of one kind.

    Attributes:
        kind: what they are.
        train: the pairs, with the tag before each source.
        weight: how often each is drawn for each time that one of the corpus is.
        report: pairs dropped, by reason.
        held_out: pairs that are not trained on, as text.
    """

    kind: Kind
    train: Pairs
    weight: float
    report: CleaningReport
    held_out: Sequence[Pair]


def build_added(
    folder: Path,
    every: Sequence[Added],
    tokenizers: Tokenizers,
    valid: Sequence[Pair],
    corpus: int,
    progress: OnProgress,
) -> list[dict[str, Any]]:
    """Write the stores of added pairs into a folder; return their JSON summaries.

    Args:
        folder: of the prepared corpus.
        every: the kinds of pairs.
        tokenizers: of the corpus.
        valid: validation pairs; pairs that share a sentence with one are dropped.
        corpus: training pairs of the corpus.
        progress: called with the progress of each stage.

    Raises:
        UserError: a kind of which no pair is left.
    """
    known = {sentence_hash(text) for pair in valid for text in pair}
    found = []
    for one in every:
        report = CleaningReport()
        keep = _keep(one, known, report)
        out = _held_out(one, keep)
        numbered = _number(one, keep, out)
        longest = one.files.max_length - 1
        place = folder / FOLDER.format(one.kind)
        encoding = with_progress(numbered, f"encoding {one.kind}", None, progress)
        train = sum(1 for _ in store_pairs(place, encoding, tokenizers, longest, report))
        if not train:
            fact = f"no pair is left of the {report.read:,} read"
            raise UserError(fact, place=", ".join(one.files.source), remedy="Check the files.")
        held_out = [pair for number, pair in enumerate(one.pairs(), start=1) if number in out]
        (folder / f"{one.kind}.jsonl").write_text(to_lines(held_out), encoding="utf-8")
        weight = one.chosen_weight(corpus, train)
        found.append({"kind": one.kind, "tag": one.tag, "weight": weight, "cleaning": report.to_dict()})
    return found


def opened_added(
    folder: Path, summary: Sequence[Any], tokenizers: Tokenizers, lines: Any
) -> tuple[AddedPairs, ...]:
    """Open the stores that ``build_added`` wrote."""
    return tuple(
        AddedPairs(
            one["kind"],
            _tag(TokenStore(folder / FOLDER.format(one["kind"])), one["tag"], tokenizers),
            one["weight"],
            CleaningReport.from_dict(one["cleaning"]),
            lines(folder / f"{one['kind']}.jsonl"),
        )
        for one in summary
    )


def _tag(store: TokenStore, tag: str, tokenizers: Tokenizers) -> Pairs:
    return Directed(store, [tokenizers[0].symbols[tag]]) if tag else store


def _keep(one: Added, known: Collection[int], report: CleaningReport) -> bytearray:
    """Return 1 for each pair to keep: clean, not repeated, and without a validation sentence."""
    keep, whole = bytearray(), array("Q")
    files = one.files.model_copy(update={"drop_identical": False})
    for source, target in one.pairs():
        reason = rejection_reason(source, target, files)
        if reason is None and (sentence_hash(source) in known or sentence_hash(target) in known):
            reason = "held out"
        report.record(reason)
        keep.append(reason is None)
        whole.append(pair_hash(source, target) if reason is None else len(whole))
    first = first_occurrences(as_hashes(whole))
    for index, new in enumerate(first.tolist()):
        if keep[index] and not new:
            keep[index] = 0
            report.drop("duplicate", index + 1)
    return keep


def _held_out(one: Added, keep: bytearray) -> frozenset[int]:
    """Return the numbers, from 1, of corrections to hold out: whole groups of the same source."""
    if one.kind != "corrections" or sum(keep) < LEAST_HELD_OUT:
        return frozenset()
    pairs = compress(enumerate(one.pairs(), start=1), keep)
    chosen = [number for number, (source, _) in pairs if sentence_hash(source) % HELD_OUT_SHARE == 0]
    return frozenset(chosen[:MOST_HELD_OUT])


def _number(one: Added, keep: bytearray, out: Collection[int]) -> Iterator[Numbered]:
    pairs = compress(enumerate(one.pairs(), start=1), keep)
    return ((number, pair) for number, pair in pairs if number not in out)
