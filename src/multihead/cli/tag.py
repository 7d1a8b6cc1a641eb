"""Tag the words of sentences with a trained tagger.

    multihead tag runs/names "Anna wohnt in Berlin ."
    multihead tag runs/names -i sentences.txt -o tagged.conll

Each line is a sentence, its words separated by blanks. The output has a word
and its tag on each line, and an empty line after each sentence. Scores on
tagged sentences: `multihead evaluate RUN --src tagged.conll`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from multihead.cli import _options
from multihead.cli._writing import write
from multihead.errors import UserError
from multihead.run import files
from multihead.tasks.tagging.tagger import Tagger
from multihead.text.lines import STDIN, read_lines

CHUNK = 1024
"""Sentences tagged together."""


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    run: _options.RunFolder
    """Run folder."""
    text: Annotated[_options.Name, _options.Option(metavar="TEXT")] = None
    """A sentence, its words separated by blanks."""
    input: Annotated[_options.File, _options.Option(aliases=("-i",), metavar="IN")] = None
    """File of sentences, one a line. (default: standard input)"""
    output: Annotated[_options.File, _options.Option(aliases=("-o",), metavar="OUT")] = None
    """Output file. (default: standard output)"""
    json: _options.Flag = False
    """Write JSON, a line for each sentence."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.text is not None and options.input:
        raise UserError("a sentence and a file exclude each other", remedy="Give only one of them.")
    if options.output:
        files.check_file(options.output)
    tagger = Tagger.load(options.run, options.device)
    lines = iter([options.text]) if options.text is not None else read_lines(options.input or STDIN)
    write(_tag(tagger, lines, json_=options.json), options.output)
    return 0


def _tag(tagger: Tagger, lines: Iterator[str], *, json_: bool) -> Iterator[list[str]]:
    """Yield the output lines of each chunk of lines."""
    while chunk := list(islice(lines, CHUNK)):
        sentences = [line.split() for line in chunk]
        tagged = zip(sentences, tagger.tag(sentences), strict=True)
        if json_:
            yield [json.dumps({"words": words, "tags": tags}, ensure_ascii=False) for words, tags in tagged]
        else:
            yield [
                row for words, tags in tagged for row in (*map("\t".join, zip(words, tags, strict=True)), "")
            ]
