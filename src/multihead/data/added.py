"""Pairs added to a corpus: back-translated, copied, corrected. Each kind is drawn with a weight of its own.

Back-translated sources begin with the tag <bt> (Caswell et al. 2019), copied ones with <copy> (Currey et al.
2017).
"""

import json
from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any, Literal

from multihead.data.batches import Pairs
from multihead.data.building import Numbered, from_lines, store_pairs, to_lines, with_progress
from multihead.data.directions import Directed
from multihead.data.hashes import as_hashes, first_occurrences, sentence_hash
from multihead.data.pairs import Pair, read_pairs
from multihead.data.store import TokenStore
from multihead.data.vocabularies import Tokenizers
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.system import disk
from multihead.system.progress import OnProgress
from multihead.text.cleaning import CleaningReport, pair_hash, rejection_reason
from multihead.text.lines import STDIN, read_lines
from multihead.text.symbols import BACK_TRANSLATED, COPIED

MANIFEST = "synthetic.json"
"""File that makes a folder one of synthetic pairs."""

Kind = Literal["back-translated", "copied", "corrections"]

MOST_SYNTHETIC, MOST_COPIED = 2.0, 1.0
"""Synthetic and copied pairs of an epoch are at most so many times the corpus, whatever their number."""
CORRECTED_SHARE, MOST_OFTEN = 0.1, 16.0
"""Corrections are a tenth of the corpus in an epoch, but none is drawn more often than 16 times."""
FOLDER = "added-{}"
HELD_OUT_SHARE, LEAST_HELD_OUT, MOST_HELD_OUT = 10, 20, 500
"""One correction in ten is held out, of twenty or more, and no more than 500."""


@dataclass(frozen=True)
class Added:
    """Pairs of one kind.

    Attributes:
        kind: what they are.
        files: where they are, with the cleaning rules of the corpus.
        tag: the symbol before each source, "" for none.
        weight: how often each pair is drawn for each time that one of the corpus is; 0: ``chosen_weight``.
    """

    kind: Kind
    files: DataSettings
    tag: str
    weight: float

    def pairs(self) -> Iterator[Pair]:
        """Yield the pairs, without tags."""
        if self.kind != "copied":
            return read_pairs(self.files, self.files.source, self.files.target)
        lines = (read_lines(name, self.files.encoding) for name in self.files.source)
        return ((line, line) for line in chain.from_iterable(lines))

    def chosen_weight(self, corpus: int, own: int) -> float:
        """Return the weight, by the numbers of pairs in the corpus and of this kind, where none is given."""
        if self.weight:
            return self.weight
        if self.kind == "corrections":
            return min(MOST_OFTEN, max(1.0, CORRECTED_SHARE * corpus / own))
        most = MOST_SYNTHETIC if self.kind == "back-translated" else MOST_COPIED
        return min(1.0, most * corpus / own)


def any_added(data: DataSettings) -> bool:
    """Return whether settings add pairs to the corpus."""
    return bool(data.synthetic or data.copied or data.corrections)


def added_kinds(data: DataSettings) -> list[Added]:
    """Return the kinds of pairs that settings add to the corpus, with full paths.

    Raises:
        UserError: a folder that ``multihead synthesise`` did not complete; standard input.
    """
    folder = Path(data.dir)
    kinds = []
    if data.synthetic:
        sides = [synthetic_files(folder / name) for name in data.synthetic]
        sources, targets = ([str(side[n]) for side in sides] for n in (0, 1))
        files = _files(data, sources, targets).model_copy(update={"format": "lines", "encoding": "utf-8"})
        kinds.append(Added("back-translated", files, BACK_TRANSLATED, data.synthetic_weight))
    for kind, names, tag, weight in (
        ("copied", data.copied, COPIED, data.copied_weight),
        ("corrections", data.corrections, "", data.corrections_weight),
    ):
        if STDIN in names:
            remedy = "Save it to a file: it is read several times."
            raise UserError(f"{kind} from standard input", place="data", remedy=remedy)
        if names:
            files = _files(data, [str(folder / name) for name in names], [])
            # Corrections come in a file of their own kind, whatever the corpus is.
            defaults = {"format": "auto", "source_field": "", "target_field": ""}
            files = files.model_copy(update=defaults) if kind == "corrections" else files
            kinds.append(Added("copied" if kind == "copied" else "corrections", files, tag, weight))
    return kinds


def added_pairs(data: DataSettings) -> Iterator[Pair]:
    """Yield the pairs of all kinds, without tags."""
    return chain.from_iterable(one.pairs() for one in added_kinds(data))


def synthetic_files(folder: Path) -> tuple[Path, Path]:
    """Return the source and the target file of a folder of ``multihead synthesise``.

    Raises:
        UserError: it is none, or not complete.
    """
    try:
        content = json.loads(disk.content(folder / MANIFEST))
        names = content["source"], content["target"]
        if not all(isinstance(name, str) and Path(name).name == name for name in names):
            raise ValueError(names)
    except OSError:
        remedy = "Name a folder that `multihead synthesise` has completed; the same command completes it."
        raise UserError(f"no {MANIFEST} in it", place=str(folder), remedy=remedy) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        remedy = "Make the folder anew with `multihead synthesise`."
        raise UserError("damaged", place=str(folder / MANIFEST), remedy=remedy) from None
    return folder / names[0], folder / names[1]


def _files(data: DataSettings, sources: Sequence[str], targets: Sequence[str]) -> DataSettings:
    none: dict[str, object] = {"synthetic": (), "copied": (), "corrections": (), "tests": {}}
    paths = {
        "dir": "",
        "source": tuple(sources),
        "target": tuple(targets),
        "valid_source": (),
        "valid_target": (),
    }
    return data.model_copy(update=none | paths)


# --- stores -------------------------------------------------------------------------------------------


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
    held_out_hashes = {sentence_hash(text) for pair in valid for text in pair}
    summaries = []
    for added in every:
        report = CleaningReport()
        keep = _keep(added, held_out_hashes, report)
        out = _held_out(added, keep)
        numbered = _number(added, keep, out)
        longest = added.files.max_length - 1
        place = folder / FOLDER.format(added.kind)
        encoding = with_progress(numbered, f"encoding {added.kind}", None, progress)
        train = sum(1 for _ in store_pairs(place, encoding, tokenizers, longest, report))
        if not train:
            fact = f"no pair is left of the {report.read:,} read"
            raise UserError(fact, place=", ".join(added.files.source), remedy="Check the files.")
        held_out = [pair for number, pair in enumerate(added.pairs(), start=1) if number in out]
        (folder / f"{added.kind}.jsonl").write_text(to_lines(held_out), encoding="utf-8")
        weight = added.chosen_weight(corpus, train)
        summaries.append(
            {"kind": added.kind, "tag": added.tag, "weight": weight, "cleaning": report.to_dict()}
        )
    return summaries


def open_added(folder: Path, summary: Sequence[Any], tokenizers: Tokenizers) -> tuple[AddedPairs, ...]:
    """Open the stores that ``build_added`` wrote."""
    return tuple(
        AddedPairs(
            part["kind"],
            _tag(TokenStore(folder / FOLDER.format(part["kind"])), part["tag"], tokenizers),
            part["weight"],
            CleaningReport.from_dict(part["cleaning"]),
            from_lines(folder / f"{part['kind']}.jsonl"),
        )
        for part in summary
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
    numbers = [number for number, (source, _) in pairs if sentence_hash(source) % HELD_OUT_SHARE == 0]
    return frozenset(numbers[:MOST_HELD_OUT])


def _number(one: Added, keep: bytearray, out: Collection[int]) -> Iterator[Numbered]:
    pairs = compress(enumerate(one.pairs(), start=1), keep)
    return ((number, pair) for number, pair in pairs if number not in out)
