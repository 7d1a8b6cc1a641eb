"""Encoding of selected pairs into stores, and the progress and files of their preparation."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import compress, islice
from pathlib import Path
from typing import Any, TypeVar

from multihead.data.cleaning.sample import doubts
from multihead.data.pairs import has_markup, read_marked_pairs, read_pairs
from multihead.data.pool import in_processes
from multihead.data.selection import TRAIN, VALID, Selection, reasons
from multihead.data.store import StoreWriter
from multihead.data.vocabularies import Tokenizers
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.system.progress import OnProgress
from multihead.text.cleaning import CleaningReport
from multihead.text.marked import MarkedTokenizer
from multihead.text.symbols import split

TRAIN_STORE, VALID_STORE, VALID_PAIRS = "train", "valid", "valid.jsonl"
BLOCK = 2048
"""Pairs encoded in one call."""

Pair = tuple[str, str]
Numbered = tuple[int, Pair]
"""A pair's number, from 1 across all files, and the pair."""
T = TypeVar("T")


def store_corpus(
    folder: Path,
    files: DataSettings,
    selection: Selection,
    tokenizers: Tokenizers,
    max_length: int,
    on_trained: Callable[[Pair], object],
    progress: OnProgress,
) -> dict[str, Any]:
    """Encode and store a corpus's training and validation pairs; return its JSON summary.

    Args:
        folder: receives the stores.
        files: the files of the corpus.
        selection: the role of each pair; its report counts those that are too long.
        tokenizers: of both sides.
        max_length: tokens of a side, at most.
        on_trained: called with each training pair.
        progress: called with the progress.

    Raises:
        UserError: no training or no validation pair is left.
    """

    def corpus() -> Iterator[Pair]:
        return read_pairs(files, files.source, files.target)

    def numbered(pairs: Iterator[Pair], role: int) -> Iterator[Numbered]:
        return compress(enumerate(pairs, start=1), selection.mask(role))

    report, total = selection.report, selection.count(TRAIN)
    cautions = doubts(compress(corpus(), selection.mask(TRAIN)), total)
    texts, marked = marked_pairs(files, tokenizers)
    encoding = with_progress(numbered(texts, TRAIN), "encoding", total, progress)
    trained = 0
    for pair in store_pairs(
        folder / TRAIN_STORE, encoding, tokenizers, max_length, report, files.processes, marked=marked
    ):
        trained += 1
        on_trained(pair)
    check_left(trained, "training", report)
    if files.valid_source:
        report = CleaningReport()
        valid = count_validation_pairs(read_pairs(files, files.valid_source, files.valid_target), report)
    else:
        valid = numbered(corpus(), VALID)
    valid_pairs = list(store_pairs(folder / VALID_STORE, valid, tokenizers, max_length, report))
    check_left(len(valid_pairs), "validation", report)
    (folder / VALID_PAIRS).write_text(to_lines(valid_pairs), encoding="utf-8")
    return {
        "train": trained,
        "valid": len(valid_pairs),
        "shared": selection.shared,
        "doubts": cautions,
        "cleaning": selection.report.to_dict(),
        "valid_cleaning": report.to_dict() if files.valid_source else None,
    }


def to_lines(pairs: Iterable[Pair]) -> str:
    """Return pairs as lines of JSON."""
    return "".join(json.dumps(pair) + "\n" for pair in pairs)


def from_lines(path: Path) -> list[Pair]:
    """Return the pairs of a file of such lines."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [(source, target) for source, target in map(json.loads, lines)]


def marked_pairs(files: DataSettings, tokenizers: Tokenizers) -> tuple[Iterator[Pair], bool]:
    """Return the training pairs, and whether they are marked text, with inline markup as symbols."""
    if not has_markup(files, files.source):
        return read_pairs(files, files.source, files.target), False
    symbols = tokenizers[0].symbols.keys() & tokenizers[1].symbols.keys()
    return read_marked_pairs(files, files.source, files.target, symbols), True


def store_pairs(
    folder: Path,
    pairs: Iterable[Numbered],
    tokenizers: Tokenizers,
    max_length: int,
    report: CleaningReport,
    processes: int = 1,
    *,
    marked: bool = False,
) -> Iterator[Pair]:
    """Encode, in several processes, and store pairs, plain or marked text.

    Yield those within the maximum length, as plain text.
    """
    pairs = iter(pairs)
    blocks = iter(lambda: list(islice(pairs, BLOCK)), [])
    encoders = [MarkedTokenizer(tokenizer) if marked else tokenizer for tokenizer in tokenizers]

    def encode(block: list[Numbered]) -> tuple[list[list[int]], list[list[int]]]:
        sources, targets = ([pair[side] for _, pair in block] for side in (0, 1))
        return encoders[0].encode_batch(sources), encoders[1].encode_batch(targets)

    with StoreWriter(folder, (tokenizers[0].vocab_size, tokenizers[1].vocab_size)) as writer:
        for block, (sources, targets) in in_processes(encode, blocks, processes):
            for (number, pair), source, target in zip(block, sources, targets, strict=True):
                if not source or not target:
                    report.drop("empty", number)
                elif max(len(source), len(target)) > max_length:
                    report.drop("too many pieces", number)
                else:
                    writer.add(source, target, number)
                    yield (plain(pair[0]), plain(pair[1])) if marked else pair


def plain(text: str) -> str:
    """Return marked text without its symbols."""
    return "".join(part for part, is_symbol in split(text) if not is_symbol)


def count_validation_pairs(pairs: Iterable[Pair], report: CleaningReport) -> Iterator[Numbered]:
    """Count and number validation pairs, which are not cleaned; only unusable ones are dropped later."""
    for number, pair in enumerate(pairs, start=1):
        report.record(None)
        yield number, pair


def check_left(count: int, what: str, report: CleaningReport) -> None:
    """Refuse that no pair is left."""
    if not count:
        remedy = "Check data.max_length, and that the tokenizer fits the text."
        fact = f"no {what} pair is left of the {report.read:,} read (dropped: {reasons(report)})"
        raise UserError(fact, place="data", remedy=remedy)


def with_progress(items: Iterable[T], stage: str, total: int | None, progress: OnProgress) -> Iterator[T]:
    """Yield the items, reporting progress every thousand."""
    count = 0
    for count, item in enumerate(items, start=1):
        if count % 1000 == 0:
            progress(stage, count, total)
        yield item
    progress(stage, count, count)


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Ignore progress."""
