"""Pairs of words that translate each other, learned from a corpus (IBM model 1, Brown et al. 1993)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from multihead.data.batches import Ids, Pairs
from multihead.data.plan import evenly_spaced
from multihead.data.statistics import blocks
from multihead.text.lexicon import translations
from multihead.text.symbols import SPACE
from multihead.text.tokenizer import Tokenizer

Word = tuple[int, ...]
"""The tokens of a word, without punctuation behind it."""
WordPairs = dict[Word, Word]

MAX_CELLS = 1_200_000
"""Pairs of a source and a target word in the sample that is read: they bound time and memory."""
MAX_WORDS = 60
"""Longer sentences are not read."""
MOST_PAIRS = 10_000
"""Most pairs of a sample of texts."""
MIN_COUNT = 3
"""Rarer words are not learned."""
MIN_PROBABILITY = 0.4
"""Probability that two words must have in both directions."""


class WordOccurrence(NamedTuple):
    """A word of a sentence, ``ids[start:end]``."""

    start: int
    end: int
    word: Word


class WordFinder:
    """Finds the words of sentences of token ids.

    Args:
        tokenizer: whose ids they are.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        special = tokenizer.special_ids
        pieces = [tokenizer.piece(number) for number in range(tokenizer.vocab_size)]
        self._starts: list[bool] = tokenizer.word_starts.tolist()
        self._written = [
            number not in special and any(map(str.isalnum, piece)) and not piece.startswith("<0x")
            for number, piece in enumerate(pieces)
        ]
        self._opens = [
            written or piece == SPACE for written, piece in zip(self._written, pieces, strict=True)
        ]

    def find(self, ids: Ids) -> Iterator[WordOccurrence]:
        """Yield the words that have letters or digits, in order; one with signs before it is left out."""
        tokens = list(map(int, ids))
        starts = [place for place, token in enumerate(tokens) if place == 0 or self._starts[token]]
        for start, stop in zip(starts, [*starts[1:], len(tokens)], strict=True):
            end = stop
            while end > start and not self._written[tokens[end - 1]]:
                end -= 1
            if (
                end > start
                and self._opens[tokens[start]]
                and all(map(self._opens.__getitem__, tokens[start:end]))
            ):
                yield WordOccurrence(start, end, tuple(tokens[start:end]))


def learn_word_pairs(store: Pairs, source: WordFinder, target: WordFinder) -> WordPairs:
    """Return the target word of each source word that is almost always translated by it.

    Args:
        store: the corpus; a sample is read, evenly spaced.
        source: finds source words.
        target: finds target words.
    """
    rows = sample_pairs(store, MAX_CELLS)
    sides = [
        [[occurrence.word for occurrence in words.find(side(row))][:MAX_WORDS] for row in rows]
        for words, side in ((source, store.source), (target, store.target))
    ]
    vocabularies = [_frequent(sentences) for sentences in sides]
    if not all(vocabularies):
        return {}
    numbers = [
        [[ids[word] for word in dict.fromkeys(words) if word in ids] for words in sentences]
        for sentences, ids in zip(sides, vocabularies, strict=True)
    ]
    forward = _translations(numbers[0], numbers[1])
    backward = _translations(numbers[1], numbers[0])
    names = [list(ids) for ids in vocabularies]
    return {
        names[0][s]: names[1][t]
        for s, (t, probability) in forward.items()
        if probability >= MIN_PROBABILITY
        and t in backward
        and backward[t][0] == s
        and backward[t][1] >= MIN_PROBABILITY
    }


def sample_texts(parts: Sequence[tuple[Pairs, Tokenizer, Tokenizer]]) -> list[tuple[str, str]]:
    """Return up to about ``MOST_PAIRS`` pairs as text, evenly spaced.

    Args:
        parts: the pairs of each direction, with their tokenizers.
    """
    return [
        (source.decode(store.source(row)), target.decode(store.target(row)))
        for store, source, target in parts
        for row in range(0, len(store), 1 + len(store) * len(parts) // MOST_PAIRS)
    ]


def sample_pairs(store: Pairs, most: int) -> list[int]:
    """Return evenly spaced pairs of at most ``most`` combinations of words, if a word has 1.3 tokens."""
    cells = sum(
        int(source.astype(np.int64) @ target.astype(np.int64))
        for source, target in zip(blocks(store.source_lengths), blocks(store.target_lengths), strict=True)
    )
    count = min(len(store), max(1, int(len(store) * most / max(1.0, cells / 1.7))))
    places = evenly_spaced(len(store), count).tolist()
    return [
        row for row in places if max(store.source_lengths[row], store.target_lengths[row]) <= 2 * MAX_WORDS
    ]


def _frequent(sentences: Sequence[Sequence[Word]]) -> dict[Word, int]:
    counts = Counter(word for words in sentences for word in words)
    frequent = sorted(word for word, count in counts.items() if count >= MIN_COUNT)
    return {word: number for number, word in enumerate(frequent)}


def _translations(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> dict[int, tuple[int, float]]:
    """Return the most probable target of each source word, with its probability."""
    table = translations(sources, targets)
    order = np.lexsort((table.probability, table.source))  # the last of each source is its best
    best = order[np.flatnonzero(np.diff(table.source[order], append=-1))]
    return {
        int(s): (int(t), float(p))
        for s, t, p in zip(table.source[best], table.target[best], table.probability[best], strict=True)
    }
