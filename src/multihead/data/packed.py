"""Text of any size as one long row of token ids on disk, memory-mapped.

The text is read in passes and never held: one to count, one to learn the vocabulary, one to encode. What
comes out is kept in a folder whose name is a hash of everything it depends on.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multihead.data.build_cache import found_or_built
from multihead.data.folders import cache_root
from multihead.data.hashes import file_sha256
from multihead.data.store import mapped
from multihead.errors import UserError
from multihead.progress import OnProgress
from multihead.settings.tasks.language import DataSettings, TokenizerSettings
from multihead.text import lossless
from multihead.text.documents import Block, read_blocks, split_at
from multihead.text.tokenizer import Tokenizer

VERSION = 1
"""Goes up when the same text would be prepared in another way."""
SUMMARY, TOKENIZER = "text.json", "tokenizer.json"
SIDES = ("train", "valid")

Ids = NDArray[np.integer]


@dataclass(frozen=True)
class PackedText:
    """A text, ready for training.

    Attributes:
        train: ids to train on, (N,), memory-mapped; the end symbol stands between documents.
        valid: ids to validate on.
        tokenizer: what cut the text.
        characters: of the training text and of the validation text.
        unknown: tokens of each for which the vocabulary has nothing.
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
    known: Tokenizer | None = None,
) -> PackedText:
    """Hold out the end, learn the vocabulary, encode and store; or find all that done by an earlier call.

    Args:
        data: the files.
        tokenizer: how text is cut.
        progress: is told how far each stage has come, in characters.
        known: the tokenizer of a trained model to go on with, instead of learning one.

    Raises:
        UserError: no files named; bad files; a vocabulary that the text does not support; a cache that cannot
            be written.
    """
    paths = [Path(data.dir) / name for name in (*data.files, *data.valid_files)]
    if not data.files:
        raise UserError("no text files are named", place="data", remedy="Name them: --data.files FILE.")
    if known is None and tokenizer.file:
        known = Tokenizer.load(tokenizer.file)
    basis = _basis(data, tokenizer, known, paths)
    return found_or_built(
        cache_root(data.cache),
        basis,
        summary_file=SUMMARY,
        build=lambda folder: _build(folder, data, tokenizer, known, progress),
        find=_opened,
    )


def _basis(
    data: DataSettings, settings: TokenizerSettings, known: Tokenizer | None, paths: Sequence[Path]
) -> dict[str, Any]:
    """Return all that the result depends on, as JSON."""
    for path in paths:
        next(read_blocks([path], data.documents, data.encoding), None)  # says what is wrong with it
    return {
        "version": VERSION,
        "files": [file_sha256(path) for path in paths],
        "valid_files": len(data.valid_files),
        "held_out": None if data.valid_files else data.valid_fraction,
        "documents": data.documents,
        "encoding": data.encoding,
        "tokenizer": known.fingerprint if known else settings.model_dump(mode="json", exclude={"file"}),
    }


def _build(
    folder: Path,
    data: DataSettings,
    settings: TokenizerSettings,
    known: Tokenizer | None,
    progress: OnProgress,
) -> dict[str, Any]:
    """Fill a folder with the ids and the tokenizer; return the rest, for JSON."""

    def blocks(names: Sequence[str]) -> Iterator[Block]:
        return read_blocks([Path(data.dir) / name for name in names], data.documents, data.encoding)

    progress("reading", 0, None)
    total = sum(len(text) for text, _ in blocks(data.files))
    train = total if data.valid_files else int(total * (1 - data.valid_fraction))

    def parts() -> Iterator[tuple[Block, bool]]:
        yield from split_at(blocks(data.files), train)
        for block in blocks(data.valid_files):
            yield block, True

    if known is None:
        progress("learning the vocabulary", 0, None)
        sample = _first((text for (text, _), valid in parts() if not valid), settings.sample_chars)
        known = lossless.learn(sample, settings.kind, settings.vocab_size, settings.min_frequency)
    known.save(folder / TOKENIZER)
    dtype = np.dtype("<u2" if known.vocab_size <= 1 << 16 else "<u4")
    characters, unknown, tokens = [0, 0], [0, 0], [0, 0]
    with ExitStack() as files:
        written = [files.enter_context((folder / f"{side}.ids.bin").open("wb")) for side in SIDES]
        after_end = [False, False]
        for (text, ends), valid in parts():
            ids = known.encode(text)
            if after_end[valid]:
                ids = [known.eos_id, *ids]
            after_end[valid] = ends
            written[valid].write(np.asarray(ids, dtype).tobytes())
            characters[valid] += len(text)
            tokens[valid] += len(ids)
            unknown[valid] += ids.count(known.unk_id)
            progress("encoding", sum(characters), None)
    return {"dtype": dtype.str, "tokens": tokens, "characters": characters, "unknown": unknown}


def _first(texts: Iterable[str], characters: int) -> Iterator[str]:
    """Yield texts up to so many characters; the last one may be cut."""
    left = characters
    for text in texts:
        yield text[:left]
        left -= len(text)
        if left <= 0:
            return


def _opened(folder: Path, summary: Any, key: str) -> PackedText:
    train, valid = (mapped(folder / f"{side}.ids.bin", summary["dtype"]) for side in SIDES)
    if [len(train), len(valid)] != summary["tokens"]:
        raise ValueError("not whole")
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    return PackedText(train, valid, tokenizer, tuple(summary["characters"]), tuple(summary["unknown"]), key)
