"""Divide a corpus into parts to train, validate and test on.

    multihead split --src corpus.de --tgt corpus.en --to data/own
    multihead split --src pairs.tsv --source-field 2 --target-field 1 --to own

Pairs that share a sentence on either side, directly or through other pairs,
stay together, so that no test sentence was seen in training. Writes train.de
and train.en, named as the files read are or as --source-language and
--target-language say, else train.source and train.target; valid and test
likewise.
"""

import shlex
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Literal

import numpy as np

from multihead.cli import _console, _options
from multihead.cli._writing import in_blocks, write
from multihead.data.hashes import as_hashes, sentence_hash
from multihead.data.splitting import PARTS, connected_groups, split
from multihead.errors import UserError
from multihead.settings import DataSettings
from multihead.text.corpus import read_pairs
from multihead.text.lines import STDIN, file_kind

MOST = 1000
"""Pairs of a part that is not told how many, at most."""


@dataclass(frozen=True)
class Options:
    """What can be said."""

    src: _options.Files = ()
    """File(s) of the source side; or TSV / JSONL files with both sides."""
    tgt: _options.Files = ()
    """File(s) of the target side, line by line with the source."""
    format: Literal["auto", "lines", "tsv", "jsonl"] = "auto"
    """How files are read; "auto" goes by the name (.tsv, .jsonl; lines otherwise)."""
    source_field: _options.Text = None
    """TSV column (its number, or its name in a heading line) or JSONL key of the source. [1, "source"]"""
    target_field: _options.Text = None
    """The same of the target. [2, "target"]"""
    encoding: _options.Word = "utf-8"
    """Text encoding of the files."""
    to: _options.Folder = None
    """Folder for the six files."""
    source_language: _options.Text = None
    """Ending of the source side's files, e.g. de. [that of --src, else source]"""
    target_language: _options.Text = None
    """Ending of the target side's files, e.g. en. [that of --tgt, else target]"""
    valid: _options.Number = None
    """Pairs to validate on. [1,000, of a small corpus a twentieth]"""
    test: _options.Number = None
    """Pairs to test on. [1,000, of a small corpus a twentieth]"""
    seed: int = 1
    """Chooses the pairs."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    folder = Path(_checked(options))
    sources, targets = array("Q"), array("Q")
    for source, target in _pairs(options):
        sources.append(sentence_hash(source))
        targets.append(sentence_hash(target))
    usual = min(MOST, len(sources) // 20)
    valid, test = (usual if count is None else count for count in (options.valid, options.test))
    if valid + test >= len(sources):
        fact = f"{len(sources):,} pairs leave none to train on"
        raise UserError(fact, place=options.src[0], remedy="Ask for smaller parts: --valid and --test.")
    if not valid or not test:
        fact = f"{len(sources):,} pairs leave none to validate on, or none to test on"
        raise UserError(fact, place=options.src[0], remedy="Say how many: --valid 5 --test 5.")
    groups = connected_groups(as_hashes(sources), as_hashes(targets))
    parts = split(groups, valid=valid, test=test, seed=options.seed)
    _create(folder)
    console = _console.output()
    console.print(f"{len(parts):,} pairs in {int(groups.max()) + 1:,} groups that share no sentence")
    for number, part in enumerate(PARTS):
        chosen = parts == number
        names = [folder / f"{part}.{ending}" for ending in _endings(options)]
        for side, name in enumerate(names):
            write(in_blocks(pair[side] for pair in compress(_pairs(options), bytes(chosen))), str(name))
        console.print(f"{part:<5}  {np.count_nonzero(chosen):>11,} pairs  {names[0]} and {names[1]}")
    first, second = _endings(options)
    console.print(
        f"to train on them: multihead train --data.dir {shlex.quote(str(folder))}"
        f" --src train.{first} --tgt train.{second} --valid-src valid.{first} --valid-tgt valid.{second}",
        soft_wrap=True,
    )
    return 0


def _checked(options: Options) -> str:
    """Return the folder to write to, once all that can be wrong without reading a file is not."""
    if not options.src or not options.to:
        fact = "no folder for the parts is named" if options.src else "no corpus is named"
        raise UserError(fact, remedy="multihead split --src FILE --tgt FILE --to FOLDER")
    if STDIN in (*options.src, *options.tgt):
        fact = "a split reads the corpus more than once, and standard input only once"
        raise UserError(fact, remedy="Save it to a file.")
    if min(options.valid or 0, options.test or 0) < 0:
        raise UserError("a part cannot have fewer than 0 pairs", remedy="Check --valid and --test.")
    first, second = endings = _endings(options)
    if first == second or not all(ending.isalnum() for ending in endings):
        fact = f"files cannot end in {first!r} and {second!r}"
        raise UserError(fact, remedy="Give two different names of letters and digits, as de and en.")
    files = [Path(options.to, f"{part}.{ending}") for part in PARTS for ending in endings]
    parts = {file.resolve() for file in files}
    if own := next((file for file in (*options.src, *options.tgt) if Path(file).resolve() in parts), None):
        fact = "a part of the corpus would take its place"
        raise UserError(fact, place=own, remedy="Name another folder: --to.")
    if there := next((file for file in files if file.exists()), None):
        # Of two splits in one folder, sentences of the first one's test would be trained on.
        remedy = "Name another folder: --to, or remove what is there."
        raise UserError("there is a split in this folder already", place=str(there), remedy=remedy)
    return options.to


def _endings(options: Options) -> tuple[str, str]:
    """Return what the files of each side end in: what was said, else as the files read, else the side."""
    read = [file_kind(files[0]).removeprefix(".") if files else "" for files in (options.src, options.tgt)]
    told = all(ending.isalnum() for ending in read) and read[0] != read[1]
    source, target = read if told else ("source", "target")
    return options.source_language or source, options.target_language or target


def _pairs(options: Options) -> Iterator[tuple[str, str]]:
    data = DataSettings(
        format=options.format,
        source_field=options.source_field or "",
        target_field=options.target_field or "",
        encoding=options.encoding,
    )
    return read_pairs(data, options.src, options.tgt)


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot be made ({error.strerror or error})", place=str(folder), remedy="Name another --to."
        ) from error
