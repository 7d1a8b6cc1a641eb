"""Show the pieces of a text, or of a vocabulary, and their ids.

    multihead pieces runs/de-en "Ein Hund schläft."
    multihead pieces runs/bert "[CLS] a good [MASK] [SEP]"
    multihead pieces runs/de-en
    multihead pieces runs/de-en --search schlaf
    multihead pieces tokenizer.json --count corpus.txt --top 100
    multihead pieces runs/de-en --special

Each piece has its id before it. "▁" at the beginning of a piece marks the start
of a word. Characters that a terminal does not show are escaped. In a text,
special tokens may be written as they are or as BERT writes them: [CLS] for the
begin token, [SEP] for the end token.
"""

import json
import re
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
from multihead.tasks.masked.mask_tokens import NAMES, mask_id
from multihead.text.lines import read_lines
from multihead.text.tokenizer import ALIASES, BEGIN, END, PAD, UNKNOWN, Tokenizer

BLOCK = 4096
"""Lines that are encoded together."""
GAP = 2
"""Blanks between two columns."""


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    vocabulary: Annotated[str, _options.POSITIONAL, _options.Option(metavar="RUN|FILE")]
    """Run folder, or a tokenizer.json."""
    text: Annotated[_options.Name, _options.Option(metavar="[TEXT]")] = None
    """Text to segment. (default: list the vocabulary)"""
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
    if options.text is not None and (options.search or options.special or options.count or options.top):
        fact = "--search, --special, --count and --top list the vocabulary"
        raise UserError(fact, place="beside a text", remedy="Leave out the text or these options.")
    if options.top is not None:
        _options.at_least_one("top", options.top)
    counts_of = {
        name: PieceCounts(tokenizer) for name, tokenizer in _tokenizers(Path(options.vocabulary)).items()
    }
    listed = {
        name: _list(counts, options) if options.text is None else segment(counts.tokenizer, options.text)
        for name, counts in counts_of.items()
    }
    if options.json:
        print(
            json.dumps([_as_json(counts_of[name], ids) for name, ids in listed.items()], ensure_ascii=False)
        )
        return 0
    console = _console.output()
    for name, ids in listed.items():
        console.print(f"{name}: {counts_of[name].summary}", style="bold")
        if options.text is not None:
            print("\n".join(_over_ids(counts_of[name].tokenizer, ids, console.width)))
            continue
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
        mask = mask_id(tokenizer)
        self.special = sorted(marked | tokenizer.special_ids | ({mask} if mask is not None else set()))

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


def segment(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the ids of a text in which special tokens may be written, also under their common names."""
    specials = {
        PAD: tokenizer.pad_id,
        UNKNOWN: tokenizer.unk_id,
        BEGIN: tokenizer.bos_id,
        END: tokenizer.eos_id,
    }
    ids = {name: number for token, number in specials.items() for name in ALIASES[token]}
    ids |= dict.fromkeys(NAMES, mask) if (mask := mask_id(tokenizer)) is not None else {}
    ids |= {tokenizer.piece(number): number for number in ids.values()}
    parts = re.split(f"({'|'.join(re.escape(name) for name in sorted(ids, key=len, reverse=True))})", text)
    numbers = ([ids[part]] if part in ids else tokenizer.encode(part.strip()) for part in parts)
    return [number for part in numbers for number in part]


def _over_ids(tokenizer: Tokenizer, ids: Sequence[int], width: int) -> list[str]:
    """Return lines of pieces, each with a line of their ids below."""
    lines = [("", "")]
    for number in ids:
        piece = escape_unprintable(tokenizer.piece(number))
        cells = max(cell_len(piece), len(str(number)))
        if lines[-1][0] and cell_len(lines[-1][0]) + cells > width:
            lines.append(("", ""))
        padded = piece + " " * (cells - cell_len(piece) + 1), f"{number:<{cells}} "
        lines[-1] = lines[-1][0] + padded[0], lines[-1][1] + padded[1]
    return [line.rstrip() for pair in lines for line in pair]


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
