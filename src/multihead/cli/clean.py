"""Write a corpus without the pairs that do not belong in it.

    multihead clean --src train.de --tgt train.en -o clean
    multihead clean --src memory.tmx --src-lang de --tgt-lang en -o clean.tsv
    multihead clean --src train.de --tgt train.en -o clean --keep duplicate

The first writes clean.de, clean.en, and clean.dropped.tsv: each dropped pair
with its number, its reason, and the log-odds that its sides belong together.
Nothing else is dropped. What a language looks like, and which words translate
which, is learned from the corpus itself. Reasons: empty, swapped, script,
language, noise, misaligned, unlikely, numbers, placeholders, duplicate.
"""

import importlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from multihead.apps.corpus.cleaning import Cleaned, clean
from multihead.cli import _console, _options
from multihead.cli._corpus import CorpusOptions
from multihead.cli._writing import in_blocks, same_file, write
from multihead.data.cleaning.verdicts import judge
from multihead.errors import UserError
from multihead.system.terminal import escape_unprintable
from multihead.text.lines import file_kind, read_lines
from multihead.workflows.progress_display import ProgressDisplay

HEADER = "pair\treason\todds\tnote\tsource\ttarget"
UNWRITTEN = (".csv", ".jsonl", ".tmx", ".xliff", ".xlf", ".po", ".xcstrings", ".xlsx")
"""Endings of files of both sides other than the one that is written."""
_SPACES = str.maketrans("\t\r\n", "   ")


@dataclass(frozen=True, kw_only=True)
class Options(CorpusOptions):
    """Options of the command."""

    output: Annotated[str, _options.Option(aliases=("-o",), metavar="NAME")]
    """Name of the files to write, without ending; or a .tsv file for both sides."""
    keep: Annotated[tuple[str, ...], _options.Option(metavar="REASON [REASON ...]")] = ()
    """Reasons for which nothing is dropped."""
    keep_pairs: _options.File = None
    """File of pairs to keep whatever the verdict: lines that start with the number of a pair, such as rows of
    a .dropped.tsv."""
    model: _options.Folder = None
    """Train two small translators in this folder too, and drop pairs that both find improbable: minutes, not
    seconds."""
    json: _options.Flag = False
    """Print the counts as JSON."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    outputs = _outputs(options)
    pairs = list(options.pairs())
    numbers = _numbers(options.keep_pairs) if options.keep_pairs else frozenset()
    console = _console.output()
    with ProgressDisplay(_console.messages()) as display:
        verdicts = None
        if options.model:
            # Imported here: only training the translators needs PyTorch.
            translators: Any = importlib.import_module("multihead.apps.corpus.dual_cross_entropy")
            verdicts = judge(pairs, progress=display.on_preparation)
            verdicts = translators.judged_by_translators(pairs, verdicts, Path(options.model), display)
        report = clean(
            pairs,
            keep=options.keep,
            keep_numbers=numbers,
            judgement=verdicts,
            progress=display.on_preparation,
        )
    _write(report, outputs)
    if options.json:
        console.print(json.dumps(report.to_dict(), indent=2), soft_wrap=True)
        return 0
    for line in report.report().split("\n"):
        console.print(escape_unprintable(line), soft_wrap=True)
    console.print(f"kept: {' and '.join(outputs[:-1])}; dropped: {outputs[-1]}", soft_wrap=True)
    return 0


def _outputs(options: Options) -> list[str]:
    """Return the files to write: one or two of kept pairs, and that of dropped ones."""
    kind = file_kind(options.output)
    if kind in UNWRITTEN:
        remedy = (
            f"Name it {Path(options.output).with_suffix('.tsv')}, or without ending for two files of lines."
        )
        raise UserError(f"no {kind} is written", place="-o", remedy=remedy)
    if kind == ".tsv":
        stem = options.output[: options.output.lower().rindex(".tsv")]
        names = [options.output]
    else:
        stem = options.output
        names = [f"{stem}.{ending}" for ending in _endings(options)]
    names.append(f"{stem}.dropped.tsv")
    for name in (*options.src, *options.tgt, *filter(None, [options.keep_pairs])):
        if any(same_file(name, output) for output in names):
            remedy = "Name another output with -o."
            raise UserError("the output would overwrite an input file", place=name, remedy=remedy)
    return names


def _endings(options: Options) -> tuple[str, str]:
    """Return the endings of the files of both sides. Raises ``UserError``: they are the same."""
    endings = options.endings()
    if endings[0] == endings[1] or any(len(Path(name).parts) != 1 for name in endings):
        fact = f"the file endings cannot be {endings[0]!r} and {endings[1]!r}"
        raise UserError(fact, place="-o", remedy="Give two different languages, such as de and en.")
    return endings


def _numbers(path: str) -> frozenset[int]:
    """Return the numbers at the start of the lines of a file; its header, if any, has none."""
    numbers = set()
    for place, line in enumerate(read_lines(path), start=1):
        first = line.split("\t")[0].strip()
        if first.isdecimal():
            numbers.add(int(first))
        elif line.strip() and line != HEADER:
            remedy = "Start each line with the number of a pair."
            raise UserError(f'"{first[:40]}" is not a number', place=f"{path}:{place}", remedy=remedy)
    return frozenset(numbers)


def _write(found: Cleaned, outputs: Sequence[str]) -> None:
    if len(outputs) == 2:
        write(in_blocks("\t".join(map(_cell, pair)) for pair in found.kept()), outputs[0])
    else:
        for side, name in enumerate(outputs[:-1]):
            write(in_blocks(pair[side] for pair in found.kept()), name)
    write(in_blocks(_rows(found)), outputs[-1])


def _rows(found: Cleaned) -> Iterator[str]:
    yield HEADER
    for pair in found.dropped:
        yield "\t".join(
            [str(pair.number), pair.reason, f"{pair.odds:.2f}", pair.note, *map(_cell, pair.pair)]
        )


def _cell(text: str) -> str:
    return text.translate(_SPACES)
