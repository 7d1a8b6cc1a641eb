"""Running text of any size as one memory-mapped sequence of token ids.

The text is streamed in passes: one to count, one to train the tokenizer, one to encode. The result is cached
under a hash of its inputs.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multihead.data.build_cache import cached_build
from multihead.data.hashes import file_sha256
from multihead.data.store import memory_mapped
from multihead.errors import UserError
from multihead.system.addresses import locate_file
from multihead.system.disk import cache_root
from multihead.system.progress import OnProgress
from multihead.tasks.language.settings import DataSettings, TokenizerSettings
from multihead.text import lossless
from multihead.text.documents import Block, read_blocks, split_at
from multihead.text.tokenizer import Tokenizer

VERSION = 1
"""Increases when the same text is prepared differently."""
SUMMARY, TOKENIZER = "text.json", "tokenizer.json"
SIDES = ("train", "valid")

Ids = NDArray[np.integer]


@dataclass(frozen=True)
class PackedText:
    """Running text, prepared for training.

    Attributes:
        train: training token ids, (N,), memory-mapped; end tokens separate documents.
        valid: validation token ids, likewise.
        tokenizer: the tokenizer.
        characters: number of characters of the training and the validation text.
        unknown: number of unknown tokens in each.
        fingerprint: hash of everything that the preparation depends on.
    """

    train: Ids
    valid: Ids
    tokenizer: Tokenizer
    characters: tuple[int, int]
    unknown: tuple[int, int]
    fingerprint: str


def pack(
    data: DataSettings,
    tokenizer: TokenizerSettings,
    *,
    progress: OnProgress,
    init_tokenizer: Tokenizer | None = None,
) -> PackedText:
    """Hold out validation text, train the tokenizer, encode and store; or load all that from the cache.

    Args:
        data: the files.
        tokenizer: the tokenizer to train.
        progress: called with the progress of each stage, in characters.
        init_tokenizer: tokenizer of a trained model, used instead of training one.

    Raises:
        UserError: no files named, an unreadable file, a vocabulary size that the text does not support, or a
            cache that cannot be written.
    """
    paths = [locate_file(data.dir, name) for name in (*data.files, *data.valid_files)]
    if not data.files:
        raise UserError("no text files are named", place="data", remedy="Give --data.files FILE.")
    if init_tokenizer is None and tokenizer.file:
        init_tokenizer = Tokenizer.load(tokenizer.file)
    inputs = _cache_inputs(data, tokenizer, init_tokenizer, paths)
    return cached_build(
        cache_root(data.cache),
        inputs,
        summary_file=SUMMARY,
        build=lambda folder: _build(folder, data, tokenizer, init_tokenizer, progress),
        load=_open,
    )


def _cache_inputs(
    data: DataSettings, settings: TokenizerSettings, init_tokenizer: Tokenizer | None, paths: Sequence[Path]
) -> dict[str, Any]:
    """Return everything that the result depends on, as JSON."""
    for path in paths:
        next(read_blocks([path], data.documents, data.encoding), None)  # raises if it cannot be read
    return {
        "version": VERSION,
        "files": [file_sha256(path) for path in paths],
        "valid_files": len(data.valid_files),
        "held_out": None if data.valid_files else data.valid_fraction,
        "documents": data.documents,
        "encoding": data.encoding,
        "tokenizer": init_tokenizer.fingerprint
        if init_tokenizer
        else settings.model_dump(mode="json", exclude={"file"}),
    }


def _build(
    folder: Path,
    data: DataSettings,
    settings: TokenizerSettings,
    tokenizer: Tokenizer | None,
    progress: OnProgress,
) -> dict[str, Any]:
    """Write the ids and the tokenizer into a folder; return the JSON summary."""

    def blocks(names: Sequence[str]) -> Iterator[Block]:
        return read_blocks([locate_file(data.dir, name) for name in names], data.documents, data.encoding)

    progress("reading", 0, None)
    total = sum(len(text) for text, _ in blocks(data.files))
    train = total if data.valid_files else int(total * (1 - data.valid_fraction))

    def parts() -> Iterator[tuple[Block, bool]]:
        yield from split_at(blocks(data.files), train)
        for block in blocks(data.valid_files):
            yield block, True

    if tokenizer is None:
        progress("training the tokenizer", 0, None)
        sample = _head((text for (text, _), valid in parts() if not valid), settings.sample_size)
        tokenizer = lossless.learn(sample, settings.kind, settings.vocab_size, settings.min_frequency)
    tokenizer.save(folder / TOKENIZER)
    dtype = np.dtype("<u2" if tokenizer.vocab_size <= 1 << 16 else "<u4")
    characters, unknown, tokens = [0, 0], [0, 0], [0, 0]
    with ExitStack() as files:
        written = [files.enter_context((folder / f"{side}.ids.bin").open("wb")) for side in SIDES]
        for valid, group in groupby(parts(), key=lambda part: part[1]):
            for text, ids in encode_blocks((block for block, _ in group), tokenizer):
                written[valid].write(np.asarray(ids, dtype).tobytes())
                characters[valid] += len(text)
                tokens[valid] += len(ids)
                unknown[valid] += ids.count(tokenizer.unk_id)
                progress("encoding", sum(characters), None)
    return {"dtype": dtype.str, "tokens": tokens, "characters": characters, "unknown": unknown}


def encode_blocks(blocks: Iterable[Block], tokenizer: Tokenizer) -> Iterator[tuple[str, list[int]]]:
    """Yield the text of each block and its token ids; end tokens separate documents."""
    after_end = False
    for text, ends in blocks:
        ids = tokenizer.encode(text)
        yield text, [tokenizer.eos_id, *ids] if after_end else ids
        after_end = ends


def _head(texts: Iterable[str], characters: int) -> Iterator[str]:
    """Yield texts up to a total number of characters; the last one may be truncated."""
    left = characters
    for text in texts:
        yield text[:left]
        left -= len(text)
        if left <= 0:
            return


def _open(folder: Path, summary: Any, key: str) -> PackedText:
    train, valid = (memory_mapped(folder / f"{side}.ids.bin", summary["dtype"]) for side in SIDES)
    if [len(train), len(valid)] != summary["tokens"]:
        raise ValueError("incomplete")
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    return PackedText(train, valid, tokenizer, tuple(summary["characters"]), tuple(summary["unknown"]), key)
