"""Preparation of texts, with or without labels, and of labelled pairs: stored once, then cached."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from multihead.data.build_cache import cached_build
from multihead.data.hashes import file_sha256
from multihead.data.held_out_texts import held_out_texts
from multihead.data.store import StoreWriter, TokenStore
from multihead.errors import UserError
from multihead.system.addresses import locate_file
from multihead.system.disk import cache_root
from multihead.system.progress import OnProgress
from multihead.tasks.classification import same_words
from multihead.tasks.classification import settings as classification
from multihead.tasks.masked import settings as masked
from multihead.tasks.masked.mask_tokens import learn
from multihead.tasks.text_examples import existing_tokenizer
from multihead.text.tables import Example, read_labelled, read_texts
from multihead.text.tokenizer import Tokenizer

VERSION = 2
"""Increases when the same texts are prepared differently."""
SUMMARY, TOKENIZER = "texts.json", "tokenizer.json"
BLOCK = 2048
"""Texts encoded in one call."""
MAX_SAMPLES = 100
"""Maximum number of validation texts stored as text."""
LONGEST = 1 << 32
"""Upper bound of a text's length in tokens."""
PLACES = 3
"""Maximum number of empty texts whose places are recorded."""

DataSettings = masked.DataSettings | classification.DataSettings


@dataclass(frozen=True)
class PreparedTexts:
    """Texts, prepared for training.

    Attributes:
        train: training texts; "source" holds the token ids (a pair's texts one after the other), "target"
            the class, if any, and for a pair the number of tokens of its first text.
        valid: validation texts, likewise.
        samples: the first validation texts, as text, with a tab between the texts of a pair.
        tokenizer: the tokenizer.
        labels: the class labels, sorted; empty without labels.
        empty: number of texts without tokens, which were dropped.
        places: places of the first dropped texts.
        fingerprint: hash of everything that the preparation depends on.
    """

    train: TokenStore
    valid: TokenStore
    samples: list[str]
    tokenizer: Tokenizer
    labels: tuple[str, ...]
    empty: int
    places: tuple[str, ...]
    fingerprint: str


def prepare_texts(
    data: DataSettings,
    tokenizer: masked.TokenizerSettings,
    *,
    progress: OnProgress,
    init_tokenizer: Tokenizer | None = None,
) -> PreparedTexts:
    """Hold out validation texts, train the tokenizer, encode and store; or load all that from the cache.

    Args:
        data: the files; for classification, with labels.
        tokenizer: the tokenizer to train.
        progress: called with the progress of each stage, in texts.
        init_tokenizer: tokenizer of a trained model, used instead of training one.

    Raises:
        UserError: no files named, an unreadable file, no text left, a class that occurs in validation only,
            or a cache that cannot be written.
    """
    if isinstance(data, classification.DataSettings) and data.generate:
        data = data.model_copy(update={"files": (), "valid_files": ()})
    elif not data.files:
        raise UserError("no files are named", place="data", remedy="Give --data.files FILE.")
    init_tokenizer = existing_tokenizer(tokenizer, init_tokenizer, lowercase=data.lowercase)
    inputs = _cache_inputs(data, tokenizer, init_tokenizer)
    return cached_build(
        cache_root(data.cache),
        inputs,
        summary_file=SUMMARY,
        build=lambda folder: _build(folder, data, tokenizer, init_tokenizer, progress),
        load=_open,
    )


def examples(data: DataSettings, names: Sequence[str]) -> Iterator[Example]:
    """Yield the texts of the files, with labels and second texts if the task has them."""
    for name in names:
        path = locate_file(data.dir, name)
        if isinstance(data, classification.DataSettings):
            yield from read_labelled(path, data.text_field, data.label_field, data.encoding, data.pair_field)
        else:
            yield from read_texts(path, data.text_field, data.encoding)


def encode_parts(
    batch: Sequence[Example], tokenizer: Tokenizer, *, pairs: bool
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the tokens of each text and of its second text; no tokens for a pair if either text has none."""
    firsts = tokenizer.encode_batch([example.text for example in batch])
    if not pairs:
        yield from ((first, []) for first in firsts)
        return
    seconds = tokenizer.encode_batch([example.second for example in batch])
    for first, second in zip(firsts, seconds, strict=True):
        yield (first, second) if first and second else ([], [])


def training_examples(data: DataSettings) -> Iterator[Example]:
    """Yield the examples of the training files, or the generated ones."""
    if isinstance(data, classification.DataSettings) and data.generate:
        return same_words.training_pairs(data)
    return examples(data, data.files)


def _join(example: Example) -> str:
    """Return the texts of an example as one string, to detect equal examples."""
    return f"{example.text}\t{example.second}" if example.second else example.text


def _cache_inputs(
    data: DataSettings, settings: masked.TokenizerSettings, init_tokenizer: Tokenizer | None
) -> dict[str, Any]:
    """Return everything that the result depends on, as JSON."""
    for name in (*data.files, *data.valid_files):
        next(examples(data, [name]), None)  # raises if it cannot be read
    reading = data.model_dump(mode="json", include={"text_field", "label_field", "encoding", "lowercase"})
    more: dict[str, Any] = {}
    if isinstance(data, classification.DataSettings) and data.pairs:
        more = {"pairs": data.model_dump(mode="json", include={"pair_field", "generate"})}
        if data.generate:
            more |= {"generated": [data.generated, data.length, data.seed]}
    return more | {
        "version": VERSION,
        "files": [file_sha256(locate_file(data.dir, name)) for name in data.files],
        "valid_files": [file_sha256(locate_file(data.dir, name)) for name in data.valid_files],
        "held_out": None if data.valid_files else [data.valid_fraction, data.seed],
        "reading": reading,
        "tokenizer": init_tokenizer.fingerprint
        if init_tokenizer
        else settings.model_dump(mode="json", exclude={"file", "dropout"}),
    }


def _build(
    folder: Path,
    data: DataSettings,
    settings: masked.TokenizerSettings,
    tokenizer: Tokenizer | None,
    progress: OnProgress,
) -> dict[str, Any]:
    """Write the stores and the tokenizer into a folder; return the JSON summary."""
    held_out = (
        held_out_texts(map(_join, training_examples(data)), data.valid_fraction, data.seed)
        if not data.valid_files
        else lambda _: False
    )
    progress("reading", 0, None)
    pairs = isinstance(data, classification.DataSettings) and data.pairs
    labelled = training_examples(data) if isinstance(data, classification.DataSettings) else ()
    labels = tuple(sorted({example.label for example in labelled} - {""}))
    if tokenizer is None:
        progress("training the tokenizer", 0, None)
        training = (e for e in training_examples(data) if not held_out(_join(e)))
        texts = (text for e in training for text in (e.text, e.second) if text.strip())
        tokenizer = learn(islice(texts, settings.sample_size), settings, lowercase=data.lowercase)
    tokenizer.save(folder / TOKENIZER)
    counts: Counter[str] = Counter()
    places: list[str] = []
    samples: list[str] = []
    numbers = {label: number for number, label in enumerate(labels)}

    def encode(source: Iterable[Example], *, sample: bool) -> Iterator[tuple[list[int], list[int]]]:
        remaining = iter(source)
        while block := list(islice(remaining, BLOCK)):
            parts = encode_parts(block, tokenizer, pairs=pairs)
            for example, (first, second) in zip(block, parts, strict=True):
                counts["read"] += 1
                if not first:
                    counts["empty"] += 1
                    if len(places) < PLACES:
                        places.append(example.place)
                    continue
                if example.label and example.label not in numbers:
                    remedy = f"Classes of the training files: {', '.join(labels)}."
                    fact = f'unknown class "{example.label}"'
                    raise UserError(fact, place=example.place, remedy=remedy)
                if sample and len(samples) < MAX_SAMPLES:
                    samples.append(_join(example))
                border = [len(first)] if pairs else []
                yield [*first, *second], [numbers[example.label], *border] if example.label else []
            progress("encoding", counts["read"], None)

    training = (e for e in training_examples(data) if not held_out(_join(e)))
    values = LONGEST if pairs else len(labels)
    sizes = {"train": _store(folder / "train", encode(training, sample=False), tokenizer, values)}
    valid = (
        examples(data, data.valid_files)
        if data.valid_files
        else (e for e in training_examples(data) if held_out(_join(e)))
    )
    sizes["valid"] = _store(folder / "valid", encode(valid, sample=True), tokenizer, values)
    for side, size in sizes.items():
        if not size:
            purpose = "training" if side == "train" else "validation"
            fact = f"no text left for {purpose} (read: {counts['read']:,}, empty: {counts['empty']:,})"
            raise UserError(fact, place="data", remedy="Check the files, and data.valid_fraction.")
    return {"labels": labels, "empty": counts["empty"], "places": places, "shown": samples}


def _store(
    folder: Path, rows: Iterator[tuple[list[int], list[int]]], tokenizer: Tokenizer, values: int
) -> int:
    """Store encoded texts with classes below ``values``, and return their number."""
    count = 0
    with StoreWriter(folder, (tokenizer.vocab_size, max(1, values))) as writer:
        for ids, label in rows:
            writer.add(ids, label)
            count += 1
    return count


def _open(folder: Path, summary: Any, key: str) -> PreparedTexts:
    return PreparedTexts(
        train=TokenStore(folder / "train"),
        valid=TokenStore(folder / "valid"),
        samples=summary["shown"],
        tokenizer=Tokenizer.load(folder / TOKENIZER),
        labels=tuple(summary["labels"]),
        empty=summary["empty"],
        places=tuple(summary["places"]),
        fingerprint=key,
    )
