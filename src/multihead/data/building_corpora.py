"""The passes over several corpora that prepare them: selection, a balanced tokenizer, encoding."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import compress, cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multihead.data import vocabularies
from multihead.data.building import Pair, store_corpus, with_progress
from multihead.data.corpora import Corpus
from multihead.data.hashes import as_hashes, save_training_sources, sentence_hash
from multihead.data.held_out import Sides, held_out
from multihead.data.pairs import read_pairs
from multihead.data.plan import evenly_spaced
from multihead.data.selection import DROPPED, TRAIN, Selection, select
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.system.progress import OnProgress
from multihead.text.symbols import SymbolKind, kind
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

CORPUS = "corpus-{:04d}"
"""Folder of a corpus's stores."""
MAX_REPEAT = 8
"""Times that the text of a small language is repeated at most to train the tokenizer."""


def build(
    folder: Path,
    found: Sequence[Corpus],
    read: Sequence[DataSettings],
    settings: TokenizerSettings,
    given: Tokenizer | None,
    progress: OnProgress,
) -> dict[str, Any]:
    """Write prepared corpora into a folder; return their JSON summary. Raises as ``prepare_corpora`` does."""
    tags = [symbol for symbol in settings.symbols if kind(symbol) in (SymbolKind.LANGUAGE, SymbolKind.DOMAIN)]
    selections = _select(found, read, tags, progress)
    progress("training the tokenizer", 0, None)
    if given is None:
        most = 2 * settings.sample_size
        texts = balance_languages(_by_language(found, read, selections, most), most)
        tokenizer = train(texts, settings, read[0].lowercase)
    else:
        tokenizer = given.with_lowercasing() if read[0].lowercase else given
    vocabularies.save((tokenizer, tokenizer), folder)
    hashes = array("Q")
    parts = []
    for number, (corpus, files, selection) in enumerate(zip(found, read, selections, strict=True)):
        place = folder / CORPUS.format(number)
        try:
            place.mkdir()
            longest = max(1, files.max_length - 1 - len(corpus.tags))  # the tags stand before the source
            sides = 2 if corpus.both_directions else 1

            def on_trained(pair: Pair, sides: int = sides) -> None:
                hashes.extend(map(sentence_hash, pair[:sides]))

            tokenizers = tokenizer, tokenizer
            parts.append(store_corpus(place, files, selection, tokenizers, longest, on_trained, progress))
        except UserError as error:
            raise UserError(error.fact, place=f"corpus {corpus.name}", remedy=error.remedy) from None
    save_training_sources(folder, as_hashes(hashes))
    return {"corpora": parts}


def _select(
    found: Sequence[Corpus], read: Sequence[DataSettings], tags: Sequence[str], progress: OnProgress
) -> list[Selection]:
    """Return the roles of all pairs: cleaned by corpus, held out over all of them."""
    selections, sides = [], []
    for corpus, files in zip(found, read, strict=True):
        hashed = array("Q"), array("Q")
        pairs = _hash(_without_tags(files, tags), hashed)
        try:
            selections.append(select(with_progress(pairs, "reading", None, progress), files, hold_out=False))
        except UserError as error:
            place = f"corpus {corpus.name}" if error.place == "data" else error.place
            raise UserError(error.fact, place=place, remedy=error.remedy) from None
        usable = selections[-1].roles == TRAIN
        sides.append(Sides(*(as_hashes(side)[usable] for side in hashed)))
    has_files = [bool(files.valid_source) for files in read]
    split = held_out(sides, has_files, read[0].valid_fraction, read[0].seed)
    return [_with_roles(one, roles) for one, roles in zip(selections, split, strict=True)]


def _with_roles(selection: Selection, split: NDArray[np.uint8]) -> Selection:
    roles = selection.roles.copy()
    roles[roles == TRAIN] = split
    return Selection(roles, selection.report, int(np.count_nonzero(split == DROPPED)))


def _hash(pairs: Iterator[Pair], sides: "tuple[array[int], array[int]]") -> Iterator[Pair]:
    for pair in pairs:
        for side, text in zip(sides, pair, strict=True):
            side.append(sentence_hash(text))
        yield pair


def _without_tags(files: DataSettings, tags: Sequence[str]) -> Iterator[Pair]:
    """Yield the pairs of a corpus; refuse one in which a tag of this training occurs."""
    for number, pair in enumerate(read_pairs(files, files.source, files.target), start=1):
        for text, names in zip(pair, (files.source, files.target or files.source), strict=True):
            if "<" in text and (tag := next((tag for tag in tags if tag in text), None)):
                where = f"{names[0]}:{number}" if len(names) == 1 else f"{names[0]} ...: pair {number}"
                remedy = "Remove it: tags are put before each source by themselves. Or remove the line."
                raise UserError(f"the tag {tag} occurs in the text", place=where, remedy=remedy)
        yield pair


# --- tokenizer ----------------------------------------------------------------------------------------


def _by_language(
    found: Sequence[Corpus], read: Sequence[DataSettings], chosen: Sequence[Selection], most: int
) -> list[list[str]]:
    """Return different training sentences of each language, from each corpus at most a language's share."""
    texts: dict[str, dict[str, None]] = {}
    share = max(
        1, most // len({code for one in found for code in (one.source_language, one.target_language)})
    )
    for corpus, files, selection in zip(found, read, chosen, strict=True):
        languages = corpus.source_language, corpus.target_language
        training_pairs = compress(read_pairs(files, files.source, files.target), selection.mask(TRAIN))
        for pair in vocabularies.evenly_spaced(training_pairs, selection.count(TRAIN), share):
            for language, text in zip(languages, pair, strict=True):
                texts.setdefault(language, {})[text] = None
    return [list(each) for each in texts.values()]


def balance_languages(texts: Sequence[Sequence[str]], most: int) -> Iterator[str]:
    """Yield as many texts of each language, the smaller ones repeated up to ``MAX_REPEAT`` times.

    Args:
        texts: the texts of each language.
        most: texts of all languages together, about.
    """
    share = max(1, min(most // len(texts), max(map(len, texts))))
    for each in texts:
        if len(each) < share:
            yield from islice(cycle(each), min(share, MAX_REPEAT * len(each)))
        else:
            yield from (each[place] for place in evenly_spaced(len(each), share))
