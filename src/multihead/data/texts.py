"""Single texts, with or without classes, as piece ids on disk: read, held out, encoded; done once."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from multihead import randomness
from multihead.data.build_cache import found_or_built
from multihead.data.folders import cache_root
from multihead.data.hashes import file_sha256, sentence_hash
from multihead.data.store import StoreWriter, TokenStore
from multihead.errors import UserError
from multihead.progress import OnProgress
from multihead.settings.tasks import classification, masked
from multihead.text.masking import learn, with_mask
from multihead.text.tables import Example, read_labelled, read_texts
from multihead.text.tokenizer import Tokenizer

VERSION = 1
"""Goes up when the same texts would be prepared in another way."""
SUMMARY, TOKENIZER, SHOWN = "texts.json", "tokenizer.json", "valid.txt.jsonl"
BLOCK = 2048
"""Texts encoded at once."""
MOST_SHOWN = 100
"""Validation texts kept as text."""
PLACES = 3
"""Empty texts whose places are named."""

DataSettings = masked.DataSettings | classification.DataSettings


@dataclass(frozen=True)
class PreparedTexts:
    """Texts, ready for training.

    Attributes:
        train: to train on; the "source" of each is its pieces, the "target" its class, if it has one.
        valid: to validate on.
        shown: the first validation texts, as text.
        tokenizer: what cut them.
        labels: the classes as the files spell them, sorted; none where none were asked for.
        empty: texts without a piece, which were left out.
        places: where the first of these are.
        fingerprint: hash of everything that the preparation depends on.
    """

    train: TokenStore
    valid: TokenStore
    shown: list[str]
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
    known: Tokenizer | None = None,
) -> PreparedTexts:
    """Read, hold out, learn the vocabulary, encode and store; or find all that done by an earlier call.

    Args:
        data: the files; those of a classification have labels.
        tokenizer: how text is cut.
        progress: is told how far each stage has come, in texts.
        known: the tokenizer of a trained model to go on with, instead of learning one.

    Raises:
        UserError: no files named; bad files; nothing left; a class that occurs in validation only; a cache
            that cannot be written.
    """
    if not data.files:
        raise UserError("no files are named", place="data", remedy="Name them: --data.files FILE.")
    if known is None and tokenizer.file:
        known = with_mask(Tokenizer.load(tokenizer.file))
    if known is not None and data.lowercase:
        known = known.lowercased()
    basis = _basis(data, tokenizer, known)
    return found_or_built(
        cache_root(data.cache),
        basis,
        summary_file=SUMMARY,
        build=lambda folder: _build(folder, data, tokenizer, known, progress),
        find=_opened,
    )


def examples(data: DataSettings, names: Sequence[str]) -> Iterator[Example]:
    """Yield the texts of files, with their labels where the task has any."""
    for name in names:
        path = Path(data.dir) / name
        if isinstance(data, classification.DataSettings):
            yield from read_labelled(path, data.text_field, data.label_field, data.encoding)
        else:
            yield from read_texts(path, data.text_field, data.encoding)


def _basis(data: DataSettings, settings: masked.TokenizerSettings, known: Tokenizer | None) -> dict[str, Any]:
    """Return all that the result depends on, as JSON."""
    for name in (*data.files, *data.valid_files):
        next(examples(data, [name]), None)  # says what is wrong with it
    reading = data.model_dump(mode="json", include={"text_field", "label_field", "encoding", "lowercase"})
    return {
        "version": VERSION,
        "files": [file_sha256(Path(data.dir) / name) for name in data.files],
        "valid_files": [file_sha256(Path(data.dir) / name) for name in data.valid_files],
        "held_out": None if data.valid_files else [data.valid_fraction, data.seed],
        "reading": reading,
        "tokenizer": known.fingerprint if known else settings.model_dump(mode="json", exclude={"file"}),
    }


def _build(
    folder: Path,
    data: DataSettings,
    settings: masked.TokenizerSettings,
    known: Tokenizer | None,
    progress: OnProgress,
) -> dict[str, Any]:
    """Fill a folder with the stores and the tokenizer; return the rest, for JSON."""
    held_out = _chooser(data.valid_fraction, data.seed) if not data.valid_files else lambda _: False
    progress("reading", 0, None)
    labelled = examples(data, data.files) if isinstance(data, classification.DataSettings) else ()
    labels = tuple(sorted({example.label for example in labelled} - {""}))
    if known is None:
        progress("learning the vocabulary", 0, None)
        texts = (e.text for e in examples(data, data.files) if e.text.strip() and not held_out(e.text))
        known = learn(islice(texts, settings.sample_texts), settings, lowercase=data.lowercase)
    known.save(folder / TOKENIZER)
    counted: Counter[str] = Counter()
    places: list[str] = []
    shown: list[str] = []
    numbers = {label: number for number, label in enumerate(labels)}

    def encoded(chosen: Iterable[Example], *, show: bool) -> Iterator[tuple[list[int], list[int]]]:
        chosen = iter(chosen)
        while block := list(islice(chosen, BLOCK)):
            for example, ids in zip(block, known.encode_batch([e.text for e in block]), strict=True):
                counted["read"] += 1
                if not ids:
                    counted["empty"] += 1
                    places.append(example.place) if len(places) < PLACES else None
                    continue
                if example.label and example.label not in numbers:
                    remedy = f"Known from the training files: {', '.join(labels)}."
                    fact = f'unknown class "{example.label}"'
                    raise UserError(fact, place=example.place, remedy=remedy)
                if show and len(shown) < MOST_SHOWN:
                    shown.append(example.text)
                yield ids, [numbers[example.label]] if example.label else []
            progress("encoding", counted["read"], None)

    training = (e for e in examples(data, data.files) if not held_out(e.text))
    sizes = {"train": _stored(folder / "train", encoded(training, show=False), known, len(labels))}
    valid = (
        examples(data, data.valid_files)
        if data.valid_files
        else (e for e in examples(data, data.files) if held_out(e.text))
    )
    sizes["valid"] = _stored(folder / "valid", encoded(valid, show=True), known, len(labels))
    for side, size in sizes.items():
        if not size:
            what = "train" if side == "train" else "validate"
            fact = f"no text is left to {what} on (read: {counted['read']:,}, empty: {counted['empty']:,})"
            raise UserError(fact, place="data", remedy="Check the files, and data.valid_fraction.")
    return {"labels": labels, "empty": counted["empty"], "places": places, "shown": shown}


def _chooser(fraction: float, seed: int) -> Callable[[str], bool]:
    """Return who says whether a text is held out: by its words, so that equal texts stay together."""
    salt = randomness.derive(seed, "held out")
    threshold = int(fraction * (1 << 32))
    return lambda text: sentence_hash(f"{salt} {text}") & 0xFFFFFFFF < threshold


def _stored(
    folder: Path, rows: Iterator[tuple[list[int], list[int]]], tokenizer: Tokenizer, classes: int
) -> int:
    count = 0
    with StoreWriter(folder, (tokenizer.vocab_size, max(1, classes))) as writer:
        for ids, label in rows:
            writer.add(ids, label)
            count += 1
    return count


def _opened(folder: Path, summary: Any, key: str) -> PreparedTexts:
    return PreparedTexts(
        train=TokenStore(folder / "train"),
        valid=TokenStore(folder / "valid"),
        shown=summary["shown"],
        tokenizer=Tokenizer.load(folder / TOKENIZER),
        labels=tuple(summary["labels"]),
        empty=summary["empty"],
        places=tuple(summary["places"]),
        fingerprint=key,
    )
