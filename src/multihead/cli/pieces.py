"""Show the pieces of a vocabulary and their ids.

    multihead pieces runs/de-en
    multihead pieces runs/de-en --search schlaf
    multihead pieces tokenizer.json --count corpus.txt --top 100
    multihead pieces runs/de-en --special

Each piece has its id before it. "▁" at the beginning of a piece marks the start
of a word. Characters that a terminal does not show are escaped.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

from rich.cells import cell_len

from multihead.cli import _console, _options
from multihead.errors import UserError
from multihead.run import Run, vocabulary
from multihead.system.terminal import escape_unprintable
from multihead.text.lines import read_lines
from multihead.text.tokenizer import Tokenizer

BLOCK = 4096
"""Lines that are encoded together."""
GAP = 2
"""Blanks between two columns."""


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    vocabulary: Annotated[str, _options.POSITIONAL, _options.Option(metavar="RUN|FILE")]
    """Run folder, or a tokenizer.json."""
    search: Annotated[_options.Text, _options.Option(metavar="SUBSTRING")] = None
    """Show only the pieces that contain this text, in upper or lower case."""
    special: _options.Flag = False
    """Show only special tokens: padding, unknown, begin, end, masks and reserved symbols."""
    count: Annotated[_options.File, _options.Option(metavar="CORPUS")] = None
    """Count each piece in this text file, and show the most frequent pieces first."""
    top: Annotated[_options.Number, _options.Option(metavar="COUNT")] = None
    """Maximum number of pieces shown. (default: all)"""
    json: _options.Flag = False
    """Print JSON."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.top is not None:
        _options.at_least_one("top", options.top)
    counts_of = {
        name: PieceCounts(tokenizer) for name, tokenizer in _tokenizers(Path(options.vocabulary)).items()
    }
    listed = {name: _list(counts, options) for name, counts in counts_of.items()}
    if options.json:
        print(
            json.dumps([_as_json(counts_of[name], ids) for name, ids in listed.items()], ensure_ascii=False)
        )
        return 0
    console = _console.output()
    for name, ids in listed.items():
        console.print(f"{name}: {counts_of[name].summary}", style="bold")
        cells = [counts_of[name].shown(number) for number in ids]
        print("\n".join(columns(cells, console.width)) if cells else "  no such piece")
    return 0


class PieceCounts:
    """The pieces of a tokenizer, and how often each occurs in a text.

    Attributes:
        counts: occurrences by id; None before :meth:`count`.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.counts: Counter[int] | None = None
        added = tokenizer.content["added_tokens"]
        marked = {token["id"] for token in added if token["special"]}
        self.special = sorted(marked | tokenizer.special_ids | set(_masks(tokenizer)))

    def count(self, path: str) -> None:
        """Count the pieces of a text file."""
        self.counts = Counter()
        lines = read_lines(path)
        while block := list(islice(lines, BLOCK)):
            for ids in self.tokenizer.encode_batch(block):
                self.counts.update(ids)

    @property
    def summary(self) -> str:
        """Numbers of pieces by kind."""
        size, special = self.tokenizer.vocab_size, len(self.special)
        bytes_ = sum(self.tokenizer.piece(number).startswith("<0x") for number in range(size))
        kinds = f"{special} special, {bytes_} bytes, " if bytes_ else f"{special} special, "
        text = f"{size:,} pieces ({kinds}{size - special - bytes_:,} others)"
        if self.counts is not None:
            text += f"; {len(self.counts):,} of them in {self.counts.total():,} pieces of the text"
        return text

    def shown(self, number: int) -> str:
        """A piece with its id, and its count if there is one."""
        width = len(str(self.tokenizer.vocab_size - 1))
        text = f"{number:>{width}} {escape_unprintable(self.tokenizer.piece(number))}"
        return text if self.counts is None else f"{text} {self.counts[number]:,}x"


def _masks(tokenizer: Tokenizer) -> list[int]:
    return [n for n in range(tokenizer.vocab_size) if tokenizer.piece(n) in ("[MASK]", "<mask>")]


def _tokenizers(path: Path) -> dict[str, Tokenizer]:
    if not path.is_dir():
        return {str(path): Tokenizer.load(path)}
    run = Run.open(path)
    names = vocabulary.names(run.folder)
    if not names:
        raise UserError("this run has no vocabulary", place=str(path), remedy="Name a run that reads text.")
    return {str(path / name): tokenizer for name, tokenizer in zip(names, run.tokenizers(), strict=False)}


def _list(found: PieceCounts, options: Options) -> list[int]:
    """Return the ids to show, in order."""
    if options.count:
        found.count(options.count)
    ids = found.special if options.special else range(found.tokenizer.vocab_size)
    pattern = (options.search or "").casefold()
    matches = [number for number in ids if pattern in found.tokenizer.piece(number).casefold()]
    if (counts := found.counts) is not None:
        matches.sort(key=lambda number: -counts[number])
    return matches[: options.top]


def _as_json(found: PieceCounts, ids: Sequence[int]) -> dict[str, object]:
    special = set(found.special)
    pieces = []
    for number in ids:
        piece: dict[str, object] = {"id": number, "piece": found.tokenizer.piece(number)}
        if number in special:
            piece["special"] = True
        if found.counts is not None:
            piece["count"] = found.counts[number]
        pieces.append(piece)
    return {"vocab_size": found.tokenizer.vocab_size, "pieces": pieces}


def columns(texts: Sequence[str], width: int) -> list[str]:
    """Arrange texts in columns, read downwards; each line has at most ``width`` cells if a text has.

    The columns are as many as fit; a wide character takes two cells.
    """
    cells = [cell_len(text) for text in texts]
    for rows in range(1, len(texts) + 1):
        widths = [max(cells[start : start + rows]) for start in range(0, len(texts), rows)]
        if sum(widths) + GAP * (len(widths) - 1) <= width or rows == len(texts):
            break
    lines = []
    for row in range(rows):
        line = ""
        for column, number in enumerate(range(row, len(texts), rows)):
            line += texts[number] + " " * (widths[column] - cells[number] + GAP)
        lines.append(line.rstrip())
    return lines
