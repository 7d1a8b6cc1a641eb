"""Preparation of a parallel corpus: cleaned, tokenised and stored once, then loaded from the cache.

The corpus is streamed in passes that hold at most hashes of it: one to clean and select, one or two to train
the tokenizers on a sample, one to encode. The result is cached under a hash of its inputs: the contents of
the files, the settings, the tokenizers.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multihead.data import store, vocabularies
from multihead.data.batches import Pairs
from multihead.data.build_cache import cached_build
from multihead.data.building import TRAIN_STORE, VALID_PAIRS, VALID_STORE, Pair, build
from multihead.data.folders import cache_root
from multihead.data.inputs import file_hashes, rereadable
from multihead.data.store import TokenStore
from multihead.data.vocabularies import Tokenizers
from multihead.progress import OnProgress
from multihead.settings import DataSettings, TokenizerSettings
from multihead.text.cleaning import CleaningReport
from multihead.text.corpus import check_sides
from multihead.text.tokenizer import Tokenizer

VERSION = 1
"""Increases when the same corpus is prepared differently."""
SUMMARY = "report.json"

ELSEWHERE = {"dir", "source", "target", "valid_source", "valid_target", "valid_fraction", "seed"}
WITHOUT_EFFECT = {"tests", "cache", "processes", "source_language", "target_language"}
OF_SEVERAL = {"corpora", "corpus", "both_directions", "temperature"}


@dataclass(frozen=True)
class Prepared:
    """A parallel corpus, prepared for training.

    Attributes:
        train: training pairs.
        valid: validation pairs; ``valid.source(i)`` is ``valid_pairs[i][0]`` encoded.
        valid_pairs: the validation pairs as text.
        source_tokenizer: tokenizer of the source side.
        target_tokenizer: tokenizer of the target side; the same object if the vocabulary is joint.
        report: pairs dropped from the training files, by reason. Held-out pairs count as kept.
        valid_report: the same for the validation files; None if validation pairs were held out.
        shared: number of training pairs dropped because they share a sentence with a held-out pair.
        fingerprint: hash of everything that the preparation depends on.
        folder: its cache folder, for ``hashes.contamination``.
    """

    train: Pairs
    valid: Pairs
    valid_pairs: list[Pair]
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    report: CleaningReport
    valid_report: CleaningReport | None
    shared: int
    fingerprint: str
    folder: Path

    @property
    def held_out(self) -> bool:
        """True if the validation pairs were held out of the training files."""
        return self.valid_report is None


def prepare(
    data: DataSettings,
    tokenizer: TokenizerSettings,
    *,
    progress: OnProgress | None = None,
    init_tokenizers: Tokenizers | None = None,
) -> Prepared:
    """Clean, hold out, train the tokenizers, encode and store; or load all that from the cache.

    Args:
        data: the files and the cleaning rules.
        tokenizer: the tokenizers to train.
        progress: called with the progress of each stage.
        init_tokenizers: (source, target) tokenizers of a trained model, used instead of training any.

    Raises:
        UserError: an unreadable file (see ``text.corpus``), no pair left, a vocabulary size that the corpus
            does not support, or a cache that cannot be written.
    """
    with rereadable(data) as files:
        check_sides(files, files.source, files.target)
        check_sides(files, files.valid_source, files.valid_target)
        given = vocabularies.from_files(tokenizer, init_tokenizers)
        inputs = _cache_inputs(files, tokenizer, given)
        return cached_build(
            cache_root(data.cache),
            inputs,
            summary_file=SUMMARY,
            build=lambda folder: build(folder, files, tokenizer, given, progress or _silent),
            load=lambda folder, summary, key: opened(folder, summary, key, vocabularies.load(folder)),
        )


def _cache_inputs(
    files: DataSettings, settings: TokenizerSettings, given: list[Tokenizer | None]
) -> dict[str, Any]:
    """Return everything that the result depends on, as JSON."""
    learned = None in given
    data = files.model_dump(mode="json", exclude=ELSEWHERE | WITHOUT_EFFECT | OF_SEVERAL)
    if not files.max_pairs:
        del data["max_pairs"]  # Added later; left out, so that older cache entries stay valid.
    training = settings.model_dump(exclude={"dropout", "file", "target_file"})
    for later in ("symbols", "target_kind", "target_vocab_size"):
        if training[later] == type(settings).model_fields[later].get_default():
            del training[later]  # Likewise.
    return {
        "version": [VERSION, store.VERSION],
        "files": file_hashes(files),
        "data": data,
        "held_out": None if files.valid_source else [files.valid_fraction, files.seed],
        "tokenizer": training if learned else None,
        "tokenizers": [tokenizer and tokenizer.fingerprint for tokenizer in given],
    }


def opened(folder: Path, summary: Any, key: str, tokenizers: Tokenizers) -> Prepared:
    """Open the stores of a folder; raises ValueError and others where it is incomplete."""
    lines = (folder / VALID_PAIRS).read_text(encoding="utf-8").split("\n")[:-1]
    checked = summary["valid_cleaning"]
    valid = TokenStore(folder / VALID_STORE)
    if len(valid) != len(lines):
        raise ValueError("incomplete")
    return Prepared(
        train=TokenStore(folder / TRAIN_STORE),
        valid=valid,
        valid_pairs=[(source, target) for source, target in map(json.loads, lines)],
        source_tokenizer=tokenizers[0],
        target_tokenizer=tokenizers[1],
        report=CleaningReport.from_dict(summary["cleaning"]),
        valid_report=checked and CleaningReport.from_dict(checked),
        shared=summary["shared"],
        fingerprint=key,
        folder=folder,
    )


def _silent(stage: str, done: int, total: int | None) -> None:
    """Ignore progress."""
