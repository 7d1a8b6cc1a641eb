"""Preparation of several corpora: one vocabulary, and a token store for each, built once and cached."""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multihead.data import corpora as naming
from multihead.data import prepare as single
from multihead.data import store, vocabularies
from multihead.data.build_cache import cached_build
from multihead.data.building import no_progress
from multihead.data.building_corpora import CORPUS, build
from multihead.data.corpora import Corpus
from multihead.data.directions import Directed
from multihead.data.inputs import file_hashes, rereadable
from multihead.data.mixing import shares
from multihead.data.prepare import PreparedCorpus
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.system.disk import cache_root
from multihead.system.progress import OnProgress
from multihead.text.corpus import check_sides
from multihead.text.marked import reserve
from multihead.text.symbols import choose_symbols
from multihead.text.tagged import TaggedTokenizer, tags_of
from multihead.text.tokenizer import Tokenizer

VERSION = 1
"""Increases when the same corpora are prepared differently."""
HALF = 32
"""Characters of a fingerprint that name the cache folder; the others stand for the mixing."""


@dataclass(frozen=True)
class CorpusDirection:
    """A corpus in one direction.

    Attributes:
        name: "de-en"; with the corpus's name where several have these languages.
        source: language of the sources.
        target: language of the targets.
        weight: factor on how often its pairs are drawn.
        prepared: its pairs; tags stand before each source, and ``source_tokenizer`` puts them there.
    """

    name: str
    source: str
    target: str
    weight: float
    prepared: PreparedCorpus


@dataclass(frozen=True)
class PreparedCorpora:
    """Several corpora, prepared for training.

    Attributes:
        corpora: each as it is stored, without tags.
        directions: each corpus in each of its directions, with tags.
        tokenizer: the joint tokenizer.
        fingerprint: hash of everything that the preparation and the mixing depend on.
    """

    corpora: tuple[PreparedCorpus, ...]
    directions: tuple[CorpusDirection, ...]
    tokenizer: Tokenizer
    fingerprint: str

    def counts(self, temperature: float) -> list[int]:
        """Return the pairs of each direction in an epoch; 0 for those that are not trained on."""
        return shares(
            [len(one.prepared.train) for one in self.directions],
            [one.weight for one in self.directions],
            temperature,
        )


def prepare_corpora(
    data: DataSettings,
    settings: TokenizerSettings,
    *,
    progress: OnProgress | None = None,
    init_tokenizers: vocabularies.Tokenizers | None = None,
) -> PreparedCorpora:
    """Check, clean, hold out, train the tokenizer, encode and store; or load all that from the cache.

    Args:
        data: names the corpora, and the cleaning rules of all.
        settings: the joint tokenizer to train.
        progress: called with the progress of each stage.
        init_tokenizers: of a trained model; tags that its vocabulary lacks are added behind all others.

    Raises:
        UserError: see ``corpora.corpora`` and ``prepare``; a corpus whose sides differ in length, or in which
            a tag occurs; two vocabularies.
    """
    corpora = naming.corpora(data)
    _refuse_two_vocabularies(settings, init_tokenizers)
    reserved = [*choose_symbols(settings.symbols), *naming.symbols(corpora)]
    with ExitStack() as open_files:
        for corpus in corpora:
            check_sides(corpus.files, corpus.files.source, corpus.files.target)
            check_sides(corpus.files, corpus.files.valid_source, corpus.files.valid_target)
        files = [open_files.enter_context(rereadable(corpus.files)) for corpus in corpora]
        tokenizer = vocabularies.from_files(settings, init_tokenizers)[0]
        tokenizer = tokenizer and reserve(tokenizer, reserved)
        settings = settings.model_copy(update={"symbols": tuple(dict.fromkeys(reserved))})
        inputs = _cache_inputs(corpora, files, settings, tokenizer)

        def opened(folder: Path, summary: Any, key: str) -> PreparedCorpora:
            return _open(folder, summary, key, corpora)

        return cached_build(
            cache_root(data.cache),
            inputs,
            summary_file=single.SUMMARY,
            build=lambda folder: build(folder, corpora, files, settings, tokenizer, progress or no_progress),
            load=opened,
        )


def _refuse_two_vocabularies(
    settings: TokenizerSettings, init_tokenizers: vocabularies.Tokenizers | None
) -> None:
    apart = init_tokenizers is not None and init_tokenizers[0] is not init_tokenizers[1]
    if apart or not settings.joint:
        fact = "several corpora need one vocabulary for both sides"
        remedy = "Begin with a run that has one (--init)." if apart else "Set it to true."
        raise UserError(fact, place="tokenizer.joint", remedy=remedy)


def _cache_inputs(
    found: Sequence[Corpus],
    read: Sequence[DataSettings],
    settings: TokenizerSettings,
    given: Tokenizer | None,
) -> dict[str, Any]:
    """Return everything that the stores depend on, as JSON."""
    first = read[0]
    excluded = single.ELSEWHERE | single.WITHOUT_EFFECT | single.OF_SEVERAL | single.OF_ADDED
    return {
        "version": ["corpora", VERSION, single.VERSION, store.VERSION],
        "files": [file_hashes(files) for files in read],
        "languages": [[corpus.source_language, corpus.target_language] for corpus in found],
        "data": first.model_dump(mode="json", exclude=excluded),
        "held_out": [first.valid_fraction, first.seed],
        "tokenizer": None if given else settings.model_dump(exclude=single.DRAWN_ANEW),
        "tokenizers": [given and given.fingerprint],
        "symbols": settings.symbols,
    }


def _open(folder: Path, summary: Any, key: str, found: Sequence[Corpus]) -> PreparedCorpora:
    tokenizer, _ = vocabularies.load(folder)
    stored = tuple(
        dataclasses.replace(
            single.open_stores(folder / CORPUS.format(number), part, key, (tokenizer, tokenizer)),
            folder=folder,
        )
        for number, part in enumerate(summary["corpora"])
    )
    if len(stored) != len(found):
        raise ValueError("incomplete")
    mixing = hashlib.sha256(json.dumps(naming.basis(found)).encode()).hexdigest()
    return PreparedCorpora(stored, tuple(_directions(found, stored)), tokenizer, key[:HALF] + mixing[:HALF])


def _directions(found: Sequence[Corpus], stored: Sequence[PreparedCorpus]) -> list[CorpusDirection]:
    every = [
        (corpus, prepared, pair, number == 1)
        for corpus, prepared in zip(found, stored, strict=True)
        for number, pair in enumerate(corpus.directions)
    ]
    pairs = [pair for _, _, pair, _ in every]
    return [
        CorpusDirection(
            "-".join(pair) if pairs.count(pair) == 1 else f"{'-'.join(pair)} ({corpus.name})",
            *pair,
            corpus.weight,
            in_direction(prepared, tags_of(pair[1], corpus.tags), backwards=backwards),
        )
        for corpus, prepared, pair, backwards in every
    ]


def in_direction(prepared: PreparedCorpus, tags: Sequence[str], *, backwards: bool) -> PreparedCorpus:
    """Return a prepared corpus in one direction, with these tags before its sources."""
    tagged = TaggedTokenizer(prepared.source_tokenizer, tags)
    sides = (prepared.train, prepared.valid)
    train, valid = (Directed(side, tagged.tag_ids, backwards=backwards) for side in sides)
    pairs = [(target, source) for source, target in prepared.valid_pairs]
    return dataclasses.replace(
        prepared,
        train=train,
        valid=valid,
        valid_pairs=pairs if backwards else prepared.valid_pairs,
        source_tokenizer=tagged,
    )
