"""From corpus files to what training reads: cleaned, cut into pieces, stored; done once, then found again.

The corpus is read in passes, and no pass holds more of it than hashes: one to clean and choose, one or
two to train the tokenizers on a sample, one to encode. What comes out is kept in a folder whose name is
a hash of everything it depends on: the bytes of the files, the settings, the tokenizers.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multihead.data import store, vocabularies
from multihead.data.build_cache import found_or_built
from multihead.data.building import TRAIN_STORE, VALID_PAIRS, VALID_STORE, Pair, build
from multihead.data.folders import cache_root
from multihead.data.inputs import contents, reread
from multihead.data.store import TokenStore
from multihead.data.vocabularies import Tokenizers
from multihead.progress import OnProgress
from multihead.settings import DataSettings, TokenizerSettings
from multihead.text.cleaning import CleaningReport
from multihead.text.corpus import check_sides
from multihead.text.tokenizer import Tokenizer

VERSION = 1
"""Goes up when the same corpus would be prepared in another way."""
SUMMARY = "report.json"

_ELSEWHERE = {"dir", "source", "target", "valid_source", "valid_target", "valid_fraction", "seed"}
_WITHOUT_EFFECT = {"tests", "cache", "source_language", "target_language"}


@dataclass(frozen=True)
class Prepared:
    """A corpus, ready for training.

    Attributes:
        train: pairs to train on.
        valid: pairs to validate on; ``valid.source(i)`` is ``valid_pairs[i][0]`` in pieces.
        valid_pairs: the validation text as it is in its files.
        source_tokenizer: cuts the source side.
        target_tokenizer: cuts the target side; the same object where the vocabulary is joint.
        report: what was dropped from the training files, and why. Held-out pairs count as kept.
        valid_report: the same of the validation files; None where validation pairs were held out.
        shared: pairs left out of training because they share a sentence with a held-out one.
        fingerprint: hash of everything that the preparation depends on.
        folder: where it is kept; ``hashes.contamination`` asks for it.
    """

    train: TokenStore
    valid: TokenStore
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
        """Whether the validation pairs were taken from the training files."""
        return self.valid_report is None


def prepare(
    data: DataSettings,
    tokenizer: TokenizerSettings,
    *,
    progress: OnProgress | None = None,
    init_tokenizers: Tokenizers | None = None,
) -> Prepared:
    """Clean, hold out, learn the vocabulary, encode and store; or find all that done by an earlier call.

    Args:
        data: the files, and which of their pairs are fit.
        tokenizer: how text is cut into pieces.
        progress: is told how far each stage has come.
        init_tokenizers: (source, target) of a trained model to go on with, instead of learning any.

    Raises:
        UserError: bad files (see ``text.corpus``), no pair left, a vocabulary that the corpus does not
            support, or a cache that cannot be written.
    """
    with reread(data) as files:
        check_sides(files, files.source, files.target)
        check_sides(files, files.valid_source, files.valid_target)
        known = vocabularies.from_files(tokenizer, init_tokenizers)
        basis = _basis(files, tokenizer, known)
        return found_or_built(
            cache_root(data.cache),
            basis,
            summary_file=SUMMARY,
            build=lambda folder: build(folder, files, tokenizer, known, progress or _silent),
            find=_opened,
        )


def _basis(files: DataSettings, settings: TokenizerSettings, known: list[Tokenizer | None]) -> dict[str, Any]:
    """Return all that the result depends on, as JSON."""
    learned = None in known
    data = files.model_dump(mode="json", exclude=_ELSEWHERE | _WITHOUT_EFFECT)
    if not files.max_pairs:
        del data["max_pairs"]  # A key that came later: what was prepared before it is still good.
    return {
        "version": [VERSION, store.VERSION],
        "files": contents(files),
        "data": data,
        "held_out": None if files.valid_source else [files.valid_fraction, files.seed],
        "tokenizer": settings.model_dump(exclude={"dropout", "file", "target_file"}) if learned else None,
        "tokenizers": [tokenizer and tokenizer.fingerprint for tokenizer in known],
    }


def _opened(folder: Path, summary: Any, key: str) -> Prepared:
    lines = (folder / VALID_PAIRS).read_text(encoding="utf-8").split("\n")[:-1]
    source_tokenizer, target_tokenizer = vocabularies.load(folder)
    checked = summary["valid_cleaning"]
    valid = TokenStore(folder / VALID_STORE)
    if len(valid) != len(lines):
        raise ValueError("not whole")
    return Prepared(
        train=TokenStore(folder / TRAIN_STORE),
        valid=valid,
        valid_pairs=[(source, target) for source, target in map(json.loads, lines)],
        source_tokenizer=source_tokenizer,
        target_tokenizer=target_tokenizer,
        report=CleaningReport.from_dict(summary["cleaning"]),
        valid_report=checked and CleaningReport.from_dict(checked),
        shared=summary["shared"],
        fingerprint=key,
        folder=folder,
    )


def _silent(stage: str, done: int, total: int | None) -> None:
    """Tell nobody."""
