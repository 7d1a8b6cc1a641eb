"""The passes over a parallel corpus that prepare it: selection, tokenizer training, encoding."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, islice
from pathlib import Path
from typing import Any, TypeVar

from multihead.data import vocabularies
from multihead.data.added import Added
from multihead.data.cleaning.sample import doubts
from multihead.data.hashes import TRAINED_ON, sentence_hash
from multihead.data.pairs import has_markup, read_marked_pairs, read_pairs
from multihead.data.pool import in_processes
from multihead.data.selection import DROPPED, TRAIN, VALID, Selection, reasons, select
from multihead.data.spool import HashSpool
from multihead.data.store import StoreWriter
from multihead.data.vocabularies import Tokenizers
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.system.progress import OnProgress
from multihead.text.cleaning import CleaningReport
from multihead.text.marked import MarkedTokenizer
from multihead.text.symbols import split
from multihead.text.tokenizer import Tokenizer

TRAIN_STORE, VALID_STORE, VALID_PAIRS = "train", "valid", "valid.jsonl"
BLOCK = 2048
"""Pairs encoded in one call."""

Pair = tuple[str, str]
Numbered = tuple[int, Pair]
"""A pair's number, from 1 across all files, and the pair."""
T = TypeVar("T")


def build(
    folder: Path,
    files: DataSettings,
    settings: TokenizerSettings,
    given: list[Tokenizer | None],
    more: Sequence[Added],
    progress: OnProgress,
) -> dict[str, Any]:
    """Write a prepared corpus into a folder; return its JSON summary. Raises as ``prepare`` does.

    Pairs to add teach the tokenizer too; the corpus loses what corrections replace.
    """

    def corpus() -> Iterator[Pair]:
        return read_pairs(files, files.source, files.target)

    hold_out = not files.valid_source
    reading = with_progress(corpus(), "reading", None, progress)
    chosen = select(reading, files, hold_out=hold_out)
    if any(one.kind == "corrections" for one in more):
        _drop_corrected(chosen, corpus(), more)
    total = chosen.count(TRAIN)
    further = sum(1 for one in more for _ in one.pairs()) if None in given else 0

    def training_pairs() -> Iterator[Pair]:
        return chain(compress(corpus(), chosen.mask(TRAIN)), *(one.pairs() for one in more))

    found = doubts(compress(corpus(), chosen.mask(TRAIN)), total)
    progress("training the tokenizer", 0, None)
    tokenizers = vocabularies.train_tokenizers(
        given, training_pairs, total + further, settings, lowercase=files.lowercase
    )
    vocabularies.save(tokenizers, folder)

    texts, marked = marked_pairs(files, tokenizers)
    numbered = compress(enumerate(texts, start=1), chosen.mask(TRAIN))
    encoding = with_progress(numbered, "encoding", total, progress)
    kept = store_pairs(
        folder / TRAIN_STORE,
        encoding,
        tokenizers,
        files.max_length,
        chosen.report,
        files.processes,
        marked=marked,
    )
    with HashSpool(folder) as hashes:
        hashes.extend(sentence_hash(source) for source, _ in kept)
        trained = len(hashes)
        check_left(trained, "training", chosen.report)
        hashes.save_unique(folder / TRAINED_ON)

    valid: Iterator[Numbered]
    if hold_out:
        valid = compress(enumerate(corpus(), start=1), chosen.mask(VALID))
        valid_report = chosen.report
    else:
        valid_report = CleaningReport()
        valid = count_validation_pairs(
            read_pairs(files, files.valid_source, files.valid_target), valid_report
        )
    valid_pairs = list(store_pairs(folder / VALID_STORE, valid, tokenizers, files.max_length, valid_report))
    check_left(len(valid_pairs), "validation", valid_report)
    (folder / VALID_PAIRS).write_text(to_lines(valid_pairs), encoding="utf-8")
    return {
        "train": trained,
        "valid": len(valid_pairs),
        "shared": chosen.shared,
        "doubts": found,
        "cleaning": chosen.report.to_dict(),
        "valid_cleaning": None if hold_out else valid_report.to_dict(),
    }


def _drop_corrected(chosen: Selection, pairs: Iterator[Pair], more: Sequence[Added]) -> None:
    """Drop training pairs for whose source there is a correction."""
    corrections = (one for one in more if one.kind == "corrections")
    corrected = {sentence_hash(source) for one in corrections for source, _ in one.pairs()}
    for number, (source, _) in enumerate(pairs, start=1):
        if chosen.roles[number - 1] == TRAIN and sentence_hash(source) in corrected:
            chosen.roles[number - 1] = DROPPED
            chosen.report.drop("corrected", number)


def to_lines(pairs: Iterable[Pair]) -> str:
    """Return pairs as lines of JSON."""
    return "".join(json.dumps(pair) + "\n" for pair in pairs)


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
    encoders = [MarkedTokenizer(one) if marked else one for one in tokenizers]

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
