"""Split a corpus into training, validation and test sets.

    multihead split --src corpus.de --tgt corpus.en --to data/own
    multihead split --src pairs.tsv --source-field 2 --target-field 1 --to own

Pairs that share a sentence on either side, directly or through other pairs,
go to the same set, so that no test sentence occurs in training. A side of a
few different lines, such as labels, is left out of account. The files are
train.de, train.en and so on. Their extensions are --source-language and
--target-language, or those of the input files, or .source and .target.
"""

import shlex
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Annotated

import numpy as np

from multihead.cli import _console, _options
from multihead.cli._corpus import CorpusOptions
from multihead.cli._writing import in_blocks, write
from multihead.data.closed_sets import telling
from multihead.data.hashes import as_hashes, sentence_hash
from multihead.data.splitting import PARTS, TEST, VALID, connected_groups, split
from multihead.errors import UserError
from multihead.text.lines import STDIN

DEFAULT_PAIRS = 1000
"""Default size of the validation and test sets; less for a small corpus."""


@dataclass(frozen=True, kw_only=True)
class Options(CorpusOptions):
    """Options of the command."""

    to: Annotated[str, _options.Option(metavar="DIR")]
    """Folder for the six files."""
    valid: _options.Number = None
    """Size of the validation set in pairs. (default: 1,000, or 5 % of a small corpus)"""
    test: _options.Number = None
    """Size of the test set in pairs. (default: 1,000, or 5 % of a small corpus)"""
    seed: int = 1
    """Random seed of the choice of pairs."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    _check(options)
    folder = Path(options.to)
    sources, targets = array("Q"), array("Q")
    for source, target in options.pairs():
        sources.append(sentence_hash(source))
        targets.append(sentence_hash(target))
    default = min(DEFAULT_PAIRS, len(sources) // 20)
    valid, test = (default if count is None else count for count in (options.valid, options.test))
    if valid + test >= len(sources):
        fact = f"{len(sources):,} pairs leave none for training"
        raise UserError(fact, place=options.src[0], remedy="Reduce --valid and --test.")
    if not valid or not test:
        fact = f"{len(sources):,} pairs leave none for validation or none for testing"
        raise UserError(fact, place=options.src[0], remedy="Give the sizes: --valid 5 --test 5.")
    both = as_hashes(sources), as_hashes(targets)
    sides = telling(*both)
    groups = connected_groups(sides[0], sides[-1])
    parts = split(groups, valid=valid, test=test, seed=options.seed)
    if empty := [PARTS[part] for part in (VALID, TEST) if not np.any(parts == part)]:
        largest = int(np.bincount(groups).max())
        joined = f"sentences that repeat join {largest:,} of {len(parts):,} pairs"
        fact = f"no pair for {' and '.join(empty)}: {joined}"
        remedy = "Give larger sizes (--valid 500 --test 500), or remove repetitions."
        raise UserError(fact, place=options.src[0], remedy=remedy)
    _create(folder)
    console = _console.output()
    console.print(f"{len(parts):,} pairs in {int(groups.max()) + 1:,} groups that share no sentence")
    for name, hashes in zip(("source", "target"), both, strict=True):
        if not any(hashes is other for other in sides):
            few = f"only {len(np.unique(hashes)):,} different lines on the {name} side"
            console.print(f"{few}: these may be in several sets")
    for number, part in enumerate(PARTS):
        selection = parts == number
        files = [folder / f"{part}.{ending}" for ending in options.endings()]
        for side, file in enumerate(files):
            write(in_blocks(pair[side] for pair in compress(options.pairs(), bytes(selection))), str(file))
        console.print(f"{part:<5}  {np.count_nonzero(selection):>11,} pairs  {files[0]} and {files[1]}")
    first, second = options.endings()
    console.print(
        f"to train on it: multihead train --data.dir {shlex.quote(str(folder))}"
        f" --src train.{first} --tgt train.{second} --valid-src valid.{first} --valid-tgt valid.{second}",
        soft_wrap=True,
    )
    return 0


def _check(options: Options) -> None:
    """Check the options without reading a file."""
    if STDIN in (*options.src, *options.tgt):
        fact = "the corpus is read several times, which standard input does not allow"
        raise UserError(fact, remedy="Save it to a file.")
    if min(options.valid or 0, options.test or 0) < 0:
        raise UserError("a set cannot have a negative size", remedy="Check --valid and --test.")
    first, second = endings = options.endings()
    if first == second or not all(ending.isalnum() for ending in endings):
        fact = f"the file extensions cannot be {first!r} and {second!r}"
        raise UserError(fact, remedy="Give two different ones of letters and digits, such as de and en.")
    files = [Path(options.to, f"{part}.{ending}") for part in PARTS for ending in endings]
    parts = {file.resolve() for file in files}
    if overwritten := next(
        (file for file in (*options.src, *options.tgt) if Path(file).resolve() in parts), None
    ):
        fact = "the split would overwrite this input file"
        raise UserError(fact, place=overwritten, remedy="Name another folder with --to.")
    if existing := next((file for file in files if file.exists()), None):
        # Mixing two splits in a folder could put test sentences of the first into training.
        remedy = "Name another folder with --to, or remove the files."
        raise UserError("the folder already contains a split", place=str(existing), remedy=remedy)


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"the folder cannot be created ({error.strerror or error})",
            place=str(folder),
            remedy="Name another one with --to.",
        ) from error
