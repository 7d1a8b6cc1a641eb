"""Answer questions by parts of texts.

    multihead answer runs/keys --question ka "mu: 17; ka: 204; zo: 5"
    multihead answer runs/keys --question ka -i texts.txt
    multihead answer runs/keys -i questions.tsv --json

Each line of a file is a text; without --question, a question and a text with a
tab between them. The output has an answer on each line, a part of the text
letter for letter, and an empty line where the text has none. A text may be of
any length. The score of an answer is its log odds against no answer. To measure
a run: `multihead evaluate RUN --src questions.tsv`.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from multihead.cli import _options
from multihead.cli._writing import write
from multihead.errors import UserError
from multihead.run import files
from multihead.tasks.spans.answerer import Answer, Answerer
from multihead.text.lines import STDIN, read_lines

CHUNK = 256
"""Questions answered together."""


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    run: _options.RunFolder
    """Run folder."""
    text: Annotated[_options.Name, _options.Option(metavar="TEXT")] = None
    """A text."""
    question: Annotated[str | None, _options.Option(aliases=("-q",), metavar="QUESTION")] = None
    """The question, about every text. (default: each line begins with its own)"""
    input: Annotated[_options.File, _options.Option(aliases=("-i",), metavar="IN")] = None
    """File of texts, one a line. (default: standard input)"""
    output: Annotated[_options.File, _options.Option(aliases=("-o",), metavar="OUT")] = None
    """Output file. (default: standard output)"""
    threshold: Annotated[float | None, _options.Option(metavar="LOG_ODDS")] = None
    """Least score of an answer. (default: 0, or none if every text of the training has an answer)"""
    json: _options.Flag = False
    """Write JSON, a line for each answer, with its place in characters, and its score."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.text is not None and options.input:
        raise UserError("a text and a file exclude each other", remedy="Give only one of them.")
    if options.question is not None and not options.question.strip():
        raise UserError("no question", place="--question", remedy="Give a question.")
    if options.threshold is not None and math.isnan(options.threshold):
        raise UserError("nan is not a number", place="--threshold", remedy="Give a number.")
    if options.output:
        files.check_file(options.output)
    answerer = Answerer.load(options.run, options.device)
    lines = iter([options.text]) if options.text is not None else read_lines(options.input or STDIN)
    source = "text " if options.text is not None else f"{options.input or STDIN}:"
    given = (_pair(line, options.question, f"{source}{n}") for n, line in enumerate(lines, start=1))
    write(_answer(answerer, given, options), options.output)
    return 0


def _pair(line: str, question: str | None, place: str) -> tuple[str, str]:
    """Return the question and the text of a line."""
    if question is not None:
        return question, line
    asked, tab, text = line.partition("\t")
    if not tab:
        remedy = "Give a question and a text with a tab between them, or --question."
        raise UserError("no tab, and no question", place=place, remedy=remedy)
    if not asked.strip():
        raise UserError("no question", place=place, remedy="Give a question before the tab.")
    return asked, text


def _answer(answerer: Answerer, given: Iterator[tuple[str, str]], options: Options) -> Iterator[list[str]]:
    """Yield the output lines of each chunk of questions."""
    while chunk := list(islice(given, CHUNK)):
        answers = answerer.answer(chunk, threshold=options.threshold)
        yield [
            _as_json(question, answer) if options.json else answer.text
            for (question, _), answer in zip(chunk, answers, strict=True)
        ]


def _as_json(question: str, answer: Answer) -> str:
    shown = {
        "question": question,
        "answer": answer.text,
        "start": answer.start,
        "end": answer.end,
        "score": round(answer.score, 4) if math.isfinite(answer.score) else None,
    }
    return json.dumps(shown, ensure_ascii=False)
