"""Inserts reserved symbols into training pairs on the fly: placeholders, and terms with translations.

In a small part of the batches, words that translate each other become a placeholder on both sides, or a
source word gets its translation beside it (Dinu et al. 2019). The model learns to copy placeholders and to
use given translations. All is a function of (seed, epoch, pair); a batch is marked or not by its first pair.
"""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Self

import numpy as np

from multihead.data.batches import Ids, Pairs
from multihead.data.word_pairs import Word, WordFinder, WordOccurrence, WordPairs, learn_word_pairs
from multihead.system import randomness
from multihead.text.symbols import PLACEHOLDERS, SPACE, TERM, TERM_END, TERM_TARGET
from multihead.text.tokenizer import Tokenizer

MIN_SHARE = 0.05
"""Minimum share of pairs with words to mark; with fewer the symbols would hardly be learned."""
PROBED = 500
MOST_PLACEHOLDERS = 4
"""Maximum number of placeholders in a pair."""
MOST_TERMS = 2


class Marking:
    """Puts symbols into pairs of token ids.

    Args:
        tokenizer: the tokenizer of both sides, which reserves placeholders; terms are marked if it reserves
            their symbols too.
        pairs: words that translate each other.
        rate: fraction of the batches whose pairs get symbols.
        seed: seeds the choice.
        longest: maximum number of tokens of a marked side.
    """

    def __init__(self, tokenizer: Tokenizer, pairs: WordPairs, rate: float, seed: int, longest: int) -> None:
        self.words = WordFinder(tokenizer)
        self._pairs, self._rate, self._seed, self._longest = pairs, rate, seed, longest
        reserved = tokenizer.symbols
        self._placeholders = [reserved[name] for name in PLACEHOLDERS if name in reserved]
        self._terms = [reserved[name] for name in (TERM, TERM_TARGET, TERM_END) if name in reserved]
        spaces = [number for number in range(tokenizer.vocab_size) if tokenizer.piece(number) == SPACE]
        self._space = spaces[:1]
        names = [*PLACEHOLDERS, *((TERM, TERM_TARGET, TERM_END) if len(self._terms) == 3 else ())]
        self.symbols = tuple(name for name in names if name in reserved)
        """The symbols that pairs get."""

    @classmethod
    def of(
        cls, store: Pairs, tokenizers: tuple[Tokenizer, Tokenizer], rate: float, seed: int, longest: int
    ) -> Self | None:
        """Return the marking of a corpus.

        Returns:
            None without a rate, without reserved placeholders, with two vocabularies, or if too few pairs
            have words to mark (as in languages written without spaces).
        """
        source, target = tokenizers
        if (
            not rate
            or not set(PLACEHOLDERS) & set(source.symbols)
            or source.fingerprint != target.fingerprint
        ):
            return None
        words = WordFinder(source)
        marking = cls(source, learn_word_pairs(store, words, words), rate, seed, longest)
        rows = np.linspace(0, len(store) - 1, min(PROBED, len(store))).astype(int).tolist()
        count = sum(bool(marking.candidates(store.source(row), store.target(row))) for row in rows)
        return marking if marking._space and count >= MIN_SHARE * len(rows) else None

    def __call__(
        self, sources: Sequence[Ids], targets: Sequence[Ids], keys: Sequence[tuple[int, int]]
    ) -> tuple[list[Ids], list[Ids]]:
        """Return the pairs of a batch, all with symbols or none; ``keys`` are their (epoch, pair index).

        A marked pair is longer: a single one would widen its whole batch.
        """
        chance = random.Random(randomness.derive(self._seed, "marked batch", *keys[0])) if keys else None
        if chance is None or chance.random() >= self._rate:
            return list(sources), list(targets)
        pairs = [
            self._one(source, target, key) for source, target, key in zip(sources, targets, keys, strict=True)
        ]
        return [source for source, _ in pairs], [target for _, target in pairs]

    def candidates(self, source: Ids, target: Ids) -> list[tuple[WordOccurrence, WordOccurrence]]:
        """Return words that translate each other or are the same, each once in its sentence."""
        left, right = list(self.words.find(source)), list(self.words.find(target))
        counts = [Counter(occurrence.word for occurrence in side) for side in (left, right)]
        places = {occurrence.word: occurrence for occurrence in right}
        result = []
        for occurrence in left:
            translation: Word = self._pairs.get(occurrence.word, occurrence.word)
            if counts[0][occurrence.word] == 1 and counts[1][translation] == 1:
                result.append((occurrence, places[translation]))
        return result

    def _one(self, source: Ids, target: Ids, key: tuple[int, int]) -> tuple[Ids, Ids]:
        chance = random.Random(randomness.derive(self._seed, "marks", *key))
        pairs = self.candidates(source, target)
        pairs.sort(key=lambda _: chance.random())
        terms = len(self._terms) == 3 and chance.random() < 0.5
        selection = pairs[: 1 + int(chance.random() * (MOST_TERMS if terms else MOST_PLACEHOLDERS))]
        if not selection:
            return source, target
        edits: tuple[list[tuple[WordOccurrence, list[int]]], list[tuple[WordOccurrence, list[int]]]] = (
            [],
            [],
        )
        if terms:
            for left, right in selection:
                edits[0].append((left, self._term(left.word, right.word)))
        else:
            names = self._names(len(selection), chance)
            for name, (left, right) in zip(names, sorted(selection), strict=True):
                edits[0].append((left, [*self._space, name]))
                edits[1].append((right, [*self._space, name]))
        marked = _replace(source, edits[0]), _replace(target, edits[1])
        return marked if max(map(len, marked)) <= self._longest else (source, target)

    def _names(self, count: int, chance: random.Random) -> list[int]:
        """Return placeholders in order: the first ones, as at inference, or random ones."""
        if chance.random() < 0.5:
            return self._placeholders[:count]
        picked = sorted(range(len(self._placeholders)), key=lambda _: chance.random())[:count]
        return [self._placeholders[number] for number in sorted(picked)]

    def _term(self, source: Word, target: Word) -> list[int]:
        begin, between, end = self._terms
        return [*self._space, begin, *source, *self._space, between, *target, *self._space, end]


def _replace(ids: Ids, edits: Sequence[tuple[WordOccurrence, list[int]]]) -> Ids:
    if not edits:
        return ids
    tokens = list(map(int, ids))
    for occurrence, new in sorted(edits, reverse=True):
        tokens[occurrence.start : occurrence.end] = new
    return np.array(tokens, dtype=np.asarray(ids).dtype)
