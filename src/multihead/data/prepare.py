"""Preparation of a parallel corpus: cleaned, tokenised and stored once, then loaded from the cache.

The corpus is streamed in passes that hold at most hashes of it: one to clean and select, one or two to train
the tokenizers on a sample, one to encode. The result is cached under a hash of its inputs: the contents of
the files, the settings, the tokenizers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

from multihead.data import store, vocabularies
from multihead.data.added import Added, AddedPairs, added_kinds, build_added, open_added
from multihead.data.batches import Pairs
from multihead.data.build_cache import cached_build
from multihead.data.building import (
    TRAIN_STORE,
    VALID_PAIRS,
    VALID_STORE,
    Pair,
    from_lines,
    no_progress,
    store_corpus,
    with_progress,
)
from multihead.data.hashes import TRAINED_ON, sentence_hash
from multihead.data.inputs import check_added, file_hashes, rereadable
from multihead.data.pairs import read_pairs
from multihead.data.selection import DROPPED, TRAIN, Selection, select
from multihead.data.spool import HashSpool
from multihead.data.store import TokenStore
from multihead.data.vocabularies import Tokenizers
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.system.disk import cache_root
from multihead.system.progress import OnProgress
from multihead.text.cleaning import CleaningReport
from multihead.text.corpus import check_sides, depends_on_languages
from multihead.text.marked import reserve
from multihead.text.symbols import choose_symbols
from multihead.text.tokenizer import Tokenizer

VERSION = 1
"""Increases when the same corpus is prepared differently."""
HELD_OUT = 2
"""Increases when other pairs of a corpus are held out for validation: its cache is then built anew. It is no
input of the preparation, so that a run in progress is resumed where they are the same."""
SUMMARY = "report.json"

ELSEWHERE = {"dir", "source", "target", "valid_source", "valid_target", "valid_fraction", "seed"}
WITHOUT_EFFECT = {"tests", "cache", "processes", "source_language", "target_language"}
OF_SEVERAL = {"corpora", "corpus", "both_directions", "temperature"}
OF_ADDED = {f"{kind}{end}" for kind in ("synthetic", "copied", "corrections") for end in ("", "_weight")}
DRAWN_ANEW = {"dropout", "symbol_rate", "protect_rate", "phrase_rate", "noise_rate", "file", "target_file"}
"""Settings of the tokenizer that change what is drawn from the prepared data, and files, which are hashed."""


@dataclass(frozen=True)
class PreparedCorpus:
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
        added: pairs that are trained on beside the corpus.
        doubts: cautions about the training pairs, from a sample, see ``cleaning.sample.doubts``.
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
    added: tuple[AddedPairs, ...] = ()
    doubts: tuple[str, ...] = ()

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
) -> PreparedCorpus:
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
        more = added_kinds(data)
        for added in more:
            check_added(added)
        tokenizer = _with_tags(tokenizer, more)
        tokenizers = vocabularies.from_files(tokenizer, init_tokenizers)
        tokenizers[0] = tokenizers[0] and reserve(tokenizers[0], [added.tag for added in more if added.tag])
        inputs = _cache_inputs(files, tokenizer, tokenizers, more)
        return cached_build(
            cache_root(data.cache),
            inputs,
            summary_file=SUMMARY,
            build=lambda folder: build(folder, files, tokenizer, tokenizers, more, progress or no_progress),
            load=lambda folder, summary, key: open_stores(
                folder, current(summary, files), key, vocabularies.load(folder)
            ),
        )


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

    def training_pairs() -> Iterator[Pair]:
        return chain(compress(corpus(), selection.mask(TRAIN)), *(added.pairs() for added in more))

    reading = with_progress(corpus(), "reading", None, progress)
    selection = select(reading, files, hold_out=not files.valid_source)
    if any(added.kind == "corrections" for added in more):
        _drop_corrected(selection, corpus(), more)
    count = selection.count(TRAIN)
    if None in given:
        count += sum(1 for added in more for _ in added.pairs())
    progress("training the tokenizer", 0, None)
    tokenizers = vocabularies.train_tokenizers(
        given, training_pairs, count, settings, lowercase=files.lowercase
    )
    vocabularies.save(tokenizers, folder)
    with HashSpool(folder) as hashes:
        summary = store_corpus(
            folder,
            files,
            selection,
            tokenizers,
            files.max_length,
            lambda pair: hashes.extend([sentence_hash(pair[0])]),
            progress,
        )
        hashes.save_unique(folder / TRAINED_ON)
    if more:
        valid = from_lines(folder / VALID_PAIRS)
        tokenizers = vocabularies.load(folder)
        summary["added"] = build_added(folder, more, tokenizers, valid, summary["train"], progress)
    return {**summary, "held_out": HELD_OUT}


def _drop_corrected(selection: Selection, pairs: Iterator[Pair], more: Sequence[Added]) -> None:
    """Drop training pairs for whose source there is a correction."""
    corrections = (added for added in more if added.kind == "corrections")
    corrected = {sentence_hash(source) for added in corrections for source, _ in added.pairs()}
    for number, (source, _) in enumerate(pairs, start=1):
        if selection.roles[number - 1] == TRAIN and sentence_hash(source) in corrected:
            selection.roles[number - 1] = DROPPED
            selection.report.drop("corrected", number)


def current(summary: Any, files: DataSettings) -> Any:
    """Return the summary of a cache; raises ``ValueError`` where other pairs would be held out today."""
    if not files.valid_source and summary.get("held_out") != HELD_OUT:
        raise ValueError("held out by other rules")
    return summary


def _with_tags(settings: TokenizerSettings, more: Sequence[Added]) -> TokenizerSettings:
    """Return tokenizer settings that reserve the tags of added pairs."""
    have = choose_symbols(settings.symbols)
    missing = [added.tag for added in more if added.tag and added.tag not in have]
    return settings.model_copy(update={"symbols": (*settings.symbols, *missing)}) if missing else settings


def _cache_inputs(
    files: DataSettings,
    settings: TokenizerSettings,
    given: list[Tokenizer | None],
    more: Sequence[Added],
) -> dict[str, Any]:
    """Return everything that the result depends on, as JSON."""
    learned = None in given
    data = files.model_dump(mode="json", exclude=ELSEWHERE | WITHOUT_EFFECT | OF_SEVERAL | OF_ADDED)
    if not files.max_pairs:
        del data["max_pairs"]  # Added later; left out, so that older cache entries stay valid.
    languages = [files.source_language, files.target_language]
    sides = [(files, files.source, files.target), (files, files.valid_source, files.valid_target)]
    sides += [(added.files, added.files.source, added.files.target) for added in more]
    by_language = any(depends_on_languages(*part) for part in sides)
    training = settings.model_dump(exclude=DRAWN_ANEW)
    for later in ("symbols", "target_kind", "target_vocab_size", "apostrophe"):
        if training[later] == type(settings).model_fields[later].get_default():
            del training[later]  # Likewise.
    return {
        "version": [VERSION, store.VERSION],
        "files": file_hashes(files),
        "data": data,
        "held_out": None if files.valid_source else [files.valid_fraction, files.seed],
        "tokenizer": training if learned else None,
        "tokenizers": [tokenizer and tokenizer.fingerprint for tokenizer in given],
        **({"languages": languages} if by_language else {}),
        **({"added": [_added_inputs(added) for added in more]} if more else {}),
    }


def _added_inputs(one: Added) -> list[Any]:
    return [one.kind, one.tag, one.weight, file_hashes(one.files)]


def open_stores(folder: Path, summary: Any, key: str, tokenizers: Tokenizers) -> PreparedCorpus:
    """Open the stores of a folder; raises ValueError and others where it is incomplete."""
    pairs = from_lines(folder / VALID_PAIRS)
    checked = summary["valid_cleaning"]
    valid = TokenStore(folder / VALID_STORE)
    if len(valid) != len(pairs):
        raise ValueError("incomplete")
    return PreparedCorpus(
        train=TokenStore(folder / TRAIN_STORE),
        valid=valid,
        valid_pairs=pairs,
        source_tokenizer=tokenizers[0],
        target_tokenizer=tokenizers[1],
        report=CleaningReport.from_dict(summary["cleaning"]),
        valid_report=checked and CleaningReport.from_dict(checked),
        shared=summary["shared"],
        fingerprint=key,
        folder=folder,
        doubts=tuple(summary.get("doubts", ())),
        added=open_added(folder, summary.get("added", []), tokenizers),
    )
