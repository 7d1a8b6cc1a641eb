"""Preparation of tagged sentences: files in CoNLL's columns, or generated sequences of digits."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from multihead.batch import TaggedBatch
from multihead.data.images.random_numbers import Uniform
from multihead.data.plan import Indices, Lengths
from multihead.data.text_batches import as_input
from multihead.errors import UserError
from multihead.system import randomness
from multihead.system.progress import OnProgress
from multihead.tasks.masked.settings import TokenizerSettings
from multihead.tasks.tagging.conll import TaggedSentence, read_conll
from multihead.tasks.tagging.settings import DataSettings
from multihead.tasks.text_examples import fingerprint, prepare_tokenizer, training_and_validation
from multihead.text.bpe_dropout import BPEDropout
from multihead.text.tokenizer import Tokenizer

VERSION = 2
"""Increases when the same sentences are prepared differently."""
BLOCK = 4096
"""Sentences encoded in one call."""
DIGITS = 10
TEST_SEED = randomness.derive(0, "test sequences")
"""Seeds the generated test set, independently of data.seed."""


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """A sentence in tokens: its ids, and the positions at which its words begin."""

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]


@dataclass(frozen=True)
class TaggedTexts:
    """Encoded sentences with the tags of their words, and the sentences themselves."""

    encoded: Sequence[EncodedSentence]
    tags: Sequence[NDArray[np.int64]]
    sentences: Sequence[TaggedSentence]

    def lengths(self, max_length: int) -> Lengths:
        """Return the length of each sentence in tokens after truncation, (N,)."""
        lengths = np.array([len(sentence.ids) for sentence in self.encoded], dtype=np.int32)
        return np.minimum(lengths, np.int32(max_length - 2))

    def batch(
        self,
        rows: Indices,
        tokenizer: Tokenizer,
        max_length: int,
        *,
        dropout: BPEDropout | None = None,
        epoch: int = 0,
    ) -> TaggedBatch:
        """Collate sentences, encoded anew for an epoch with BPE-dropout; longer ones are truncated."""
        sentences = [self.encoded[row] for row in rows.tolist()]
        if dropout:
            sentences = reencode_words(sentences, dropout, [(epoch, row) for row in rows.tolist()])
        return tagged_batch(sentences, [self.tags[row] for row in rows.tolist()], tokenizer, max_length)


@dataclass(frozen=True)
class PreparedTags:
    """Tagged sentences, prepared for training.

    Attributes:
        train: training sentences.
        valid: validation sentences.
        tokenizer: the tokenizer.
        names: the tags, sorted.
        fingerprint: hash of everything that the preparation depends on.
    """

    train: TaggedTexts
    valid: TaggedTexts
    tokenizer: Tokenizer
    names: tuple[str, ...]
    fingerprint: str


def tagged_batch(
    encoded: Sequence[EncodedSentence],
    tags: Sequence[NDArray[np.int64]],
    tokenizer: Tokenizer,
    max_length: int,
) -> TaggedBatch:
    """Collate encoded sentences with the tags of their words; longer sentences are truncated."""
    most = max_length - 2
    batch = as_input([(sentence.ids[:most], None) for sentence in encoded], tokenizer)
    tags_BN = np.full(tuple(batch.ids_BN.shape), -1, dtype=np.int64)
    for row, (sentence, tags_W) in enumerate(zip(encoded, tags, strict=True)):
        inside = sentence.starts < most
        tags_BN[row, sentence.starts[inside] + 1] = tags_W[inside]  # after [CLS]
    return TaggedBatch(
        batch, torch.from_numpy(tags_BN), int(batch.lengths_B.sum()), int((tags_BN >= 0).sum())
    )


def encode_words(sentences: Iterable[Sequence[str]], tokenizer: Tokenizer) -> Iterator[EncodedSentence]:
    """Yield each sentence in tokens; a word without tokens becomes the unknown token."""
    remaining = iter(sentences)
    while block := list(islice(remaining, BLOCK)):
        words = list(dict.fromkeys(chain.from_iterable(block)))
        ids = dict(zip(words, tokenizer.encode_batch(words), strict=True))
        for sentence in block:
            pieces = [ids[word] or [tokenizer.unk_id] for word in sentence]
            starts = np.cumsum([0, *map(len, pieces)])[:-1]
            yield EncodedSentence(
                np.array(list(chain.from_iterable(pieces)), dtype=np.int64), starts.astype(np.int64)
            )


def reencode_words(
    sentences: Sequence[EncodedSentence], dropout: BPEDropout, keys: Sequence[tuple[int, ...]]
) -> list[EncodedSentence]:
    """Return sentences with other segmentations of their words, functions of the sentences' keys."""
    words, word_keys = [], []
    for sentence, key in zip(sentences, keys, strict=True):
        edges = [*sentence.starts.tolist(), len(sentence.ids)]
        words += [sentence.ids[start:end] for start, end in pairwise(edges)]
        word_keys += [(*key, number) for number in range(len(sentence.starts))]
    pieces = iter(dropout.reencode(words, word_keys))
    reencoded = []
    for sentence in sentences:
        parts = list(islice(pieces, len(sentence.starts)))
        starts = np.cumsum([0, *map(len, parts)])[:-1]
        reencoded.append(EncodedSentence(np.concatenate(parts).astype(np.int64), starts.astype(np.int64)))
    return reencoded


def generate(data: DataSettings, count: int, seed: int) -> Iterator[TaggedSentence]:
    """Yield sequences of digits with the digits in reverse, or in ascending order, as tags."""
    uniform = Uniform(seed)
    for number in range(count):
        digits = np.minimum(uniform.between(0, DIGITS, data.length).astype(np.int64), DIGITS - 1)
        targets = digits[::-1] if data.generate == "reversal" else np.sort(digits)
        words, tags = (tuple(map(str, values.tolist())) for values in (digits, targets))
        yield TaggedSentence(words, tags, f"sequence {number + 1}")


def sentences_of(data: DataSettings, names: Sequence[str]) -> Iterator[TaggedSentence]:
    """Yield the sentences of files that the settings name."""
    for name in names:
        yield from read_conll(Path(data.dir) / name, data.word_column, data.tag_column, data.encoding)


def training_sentences(data: DataSettings) -> Iterator[TaggedSentence]:
    """Yield the sentences of the training files, or the generated ones."""
    if data.generate:
        return generate(data, data.generated, randomness.derive(data.seed, "training"))
    return sentences_of(data, data.files)


def generated_test_sentences(data: DataSettings) -> Iterator[TaggedSentence]:
    """Yield the generated test set: the same for every ``data.seed``."""
    return generate(data, data.generated_tests, TEST_SEED)


def prepare_tags(
    data: DataSettings,
    settings: TokenizerSettings,
    *,
    progress: OnProgress,
    init_tokenizer: Tokenizer | None = None,
) -> PreparedTags:
    """Hold out validation sentences, train the tokenizer, and encode.

    Args:
        data: the files, or the generated sequences.
        settings: the tokenizer to train.
        progress: called with the progress of each stage.
        init_tokenizer: tokenizer of a trained model, used instead of training one.

    Raises:
        UserError: no files named, an unreadable file, a broken line, no sentence left, or a tag that occurs
            in validation only.
    """
    progress("reading", 0, None)
    train, valid = training_and_validation(data, sentences_of, generate, text_of)
    for name, sentences in (("training", train), ("validation", valid)):
        if not sentences:
            raise UserError(f"no sentence for {name}", place="data", remedy="Check data.valid_fraction.")
    names = tuple(sorted({tag for sentence in train for tag in sentence.tags}))
    numbers = {name: number for number, name in enumerate(names)}
    for sentence in valid:
        for tag in sentence.tags:
            if tag not in numbers:
                fact = f'the tag "{tag}" does not occur in the training sentences'
                raise UserError(fact, place=sentence.place, remedy="Correct it, or add training sentences.")
    texts = map(text_of, train)
    tokenizer = prepare_tokenizer(
        texts, settings, init_tokenizer, lowercase=data.lowercase, progress=progress
    )
    progress("encoding", 0, None)
    return PreparedTags(
        _encode(train, numbers, tokenizer),
        _encode(valid, numbers, tokenizer),
        tokenizer,
        names,
        fingerprint(VERSION, data, tokenizer),
    )


def text_of(sentence: TaggedSentence) -> str:
    """Return a sentence as text."""
    return " ".join(sentence.words)


def _encode(
    sentences: Sequence[TaggedSentence], numbers: dict[str, int], tokenizer: Tokenizer
) -> TaggedTexts:
    encoded = list(encode_words((sentence.words for sentence in sentences), tokenizer))
    tags = [np.array([numbers[tag] for tag in sentence.tags], dtype=np.int64) for sentence in sentences]
    return TaggedTexts(encoded, tags, sentences)
