"""Translate lines of text with a trained run.

Standard input to standard output by default, one line for each line, in order.

    echo "Guten Tag." | multihead translate runs/de-en
    multihead translate runs/de-en -i test.de -o test.en --beam-size 8
    multihead translate runs/many --to fr < text.de

Several runs of one vocabulary are an ensemble. An empty line stays empty; one
that is longer than the model can read becomes empty, and a message names it.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path
from typing import Annotated

import tyro

from multihead import hardware
from multihead.cli import _console, _directions, _options
from multihead.cli._searching import Precision, search_settings
from multihead.cli._writing import same_file, write
from multihead.errors import UserError
from multihead.generation import Output, Translation, Translator
from multihead.settings import SearchSettings
from multihead.text.corpus import read_lines

CHUNK = 1024
"""Lines searched together: enough to sort them by length, few enough that output soon begins."""
STANDARD = "-"


@dataclass(frozen=True)
class Options:
    """What can be said besides how to search."""

    runs: _options.RunFolders
    """Run folder(s)."""
    input: Annotated[_options.File, tyro.conf.arg(aliases=["-i"])] = None
    """Text to translate, a sentence a line, plain or compressed. [standard input]"""
    output: Annotated[_options.File, tyro.conf.arg(aliases=["-o"])] = None
    """Where the translations go; the file appears when it is complete. [standard output]"""
    to: _directions.To = None
    """Target language, of a model of several directions."""
    of: _directions.From = None
    """Source language; checks that the direction was trained."""
    tags: _directions.Tags = ()
    """Domains of the text ("legal"), of a model trained with them."""
    zero_shot: _directions.ZeroShot = False
    """Allow a direction that was never trained."""
    prefix: _options.Text = None
    """What every translation has to begin with (whole words)."""
    prefixes: _options.File = None
    """What each translation has to begin with, line by line with the input."""
    scores: _options.Flag = False
    """Write SCORE TAB TRANSLATION: log-probability over length penalty. With --n-best above 1 every
    translation found is written anyway as LINE NUMBER TAB SCORE TAB TRANSLATION."""
    encoding: _options.Word = "utf-8"
    """Text encoding of what is read; UTF-8 is written."""
    device: _options.Device = "auto"
    precision: Precision = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, given = _options.read_with_keys(Options, arguments, sections=("search",), short="search")
    if not options.runs:
        raise UserError("no run folder is named", remedy="multihead translate RUN < text")
    for folder in options.runs[1:]:
        if not Path(folder).exists():
            raise UserError(
                "no such run folder", place=folder, remedy="Text comes by standard input, or -i FILE."
            )
    for read in (options.input, options.prefixes):
        if read and options.output and same_file(read, options.output):
            remedy = "Name another file for the translations."
            raise UserError("it is read from, and would be replaced", place=options.output, remedy=remedy)
    search = search_settings(options.runs[0], given)
    hardware.keep_memory()
    translator = Translator.load(*options.runs, device=options.device, precision=options.precision)
    translator = _directions.directed(
        translator, options.to, options.of, options.tags, zero_shot=options.zero_shot
    )
    write(_blocks(translator, search, options), options.output)
    return 0


def _blocks(translator: Translator, search: SearchSettings, options: Options) -> Iterator[list[str]]:
    """Yield what is to be written, chunk by chunk."""
    console = _console.messages()
    by_hand = options.input in (None, STANDARD) and sys.stdin.isatty()
    if by_hand:
        console.print("A sentence a line; Ctrl-D ends.")
    size = 1 if by_hand else CHUNK
    lines = read_lines(options.input or STANDARD, options.encoding)
    prefixes = read_lines(options.prefixes, options.encoding) if options.prefixes else repeat(options.prefix)
    number = notes = 0
    while chunk := list(islice(lines, size)):
        forced = [prefix or "" for prefix in islice(prefixes, len(chunk))]
        if len(forced) != len(chunk):
            raise _unlike(options, f"{number + len(forced):,} lines, but more to translate")
        if len(chunk) < size:  # the last one
            _refuse_more(prefixes, number + len(chunk), options)
        found = translator.translate(chunk, search, prefixes=forced, first_number=number)
        noted = [(place, one.note) for place, one in enumerate(found, start=number + 1) if one.note]
        for place, note in noted[: max(0, _console.NOTES - notes)]:
            console.print(f"line {place:,}: {note}")
        notes += len(noted)
        yield [
            line
            for place, translation in enumerate(found, start=number + 1)
            for line in _spelled(place, translation, search, scores=options.scores)
        ]
        number += len(chunk)
    if notes > _console.NOTES:
        console.print(f"{notes - _console.NOTES:,} more lines were cut or not translated")
    _refuse_more(prefixes, number, options)


def _refuse_more(prefixes: Iterator[str | None], number: int, options: Options) -> None:
    if options.prefixes and next(prefixes, None) is not None:
        raise _unlike(options, f"more lines than the {number:,} to translate")


def _unlike(options: Options, fact: str) -> UserError:
    return UserError(fact, place=str(options.prefixes), remedy="A prefix a line, empty for none.")


def _spelled(number: int, translation: Translation, search: SearchSettings, *, scores: bool) -> Iterator[str]:
    """Yield the lines that are written for one line."""
    if search.n_best > 1:
        for output in translation.hypotheses:
            yield f"{number}\t{output.score:.4f}\t{output.text}"
    elif scores:
        best: Output | None = next(iter(translation.hypotheses), None)
        yield f"{best.score if best else 0:.4f}\t{translation.text}"
    else:
        yield translation.text
