"""Cuts phrases out of training pairs on the fly, so that a model translates headings, buttons and cells.

A model that saw nothing but sentences makes a sentence of everything: "Dog" becomes "A dog is running.". In a
few of the batches, each pair is replaced by some words of its source and their translation, which are bounded
by words that translate each other, consistently on both sides (Koehn et al. 2003, section 2.1). All is a
function of (seed, epoch, pair); a batch is cut or not by its first pair.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

from multihead.data.batches import Ids
from multihead.data.marking import Marking
from multihead.data.protecting import Protection
from multihead.data.word_pairs import WordOccurrence
from multihead.system import randomness
from multihead.text.tokenizer import Tokenizer

MOST_ALIGNED = 4
"""Most words of a phrase whose translation is known."""

Link = tuple[WordOccurrence, WordOccurrence]


class PhraseSpan(NamedTuple):
    """A phrase of a pair: ``source[source_start:source_end]`` and its translation."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int


class PhraseCutting:
    """Replaces pairs of token ids by phrases of theirs.

    Args:
        tokenizer: the tokenizer of both sides. Reserved symbols before a source, such as language tags, are
            preserved.
        marking: knows which words translate each other.
        rate: fraction of the batches whose pairs are replaced.
        seed: seeds the choice.
        before: applied to the batches that stay whole.

    Attributes:
        symbols: the symbols that pairs get.
    """

    def __init__(
        self, tokenizer: Tokenizer, marking: Marking, rate: float, seed: int, before: Marking | Protection
    ) -> None:
        self._tokenizer, self._marking, self._before = tokenizer, marking, before
        self._rate, self._seed = rate, seed
        self.symbols = before.symbols
        self._reserved = frozenset(tokenizer.symbols.values())

    def __call__(
        self, sources: Sequence[Ids], targets: Sequence[Ids], keys: Sequence[tuple[int, int]]
    ) -> tuple[Sequence[Ids], Sequence[Ids]]:
        """Return the pairs of a batch, all cut to phrases or none; arguments as of ``Marking``.

        A phrase is short: among whole sentences it would be padding for the most part. For a pair without
        a phrase, that of another pair is repeated.
        """
        chance = random.Random(randomness.derive(self._seed, "phrase batch", *keys[0])) if keys else None
        if chance is None or chance.random() >= self._rate:
            return self._before(sources, targets, keys)
        cut = [self._cut(*pair) for pair in zip(sources, targets, keys, strict=True)]
        phrases = [phrase for phrase in cut if phrase]
        if not phrases:
            return self._before(sources, targets, keys)
        pairs = [phrase or phrases[row % len(phrases)] for row, phrase in enumerate(cut)]
        return [source for source, _ in pairs], [target for _, target in pairs]

    def _cut(self, source: Ids, target: Ids, key: tuple[int, int]) -> tuple[Ids, Ids] | None:
        """Return a phrase of a pair and its translation; None: no word's translation is known."""
        chance = random.Random(randomness.derive(self._seed, "phrase", *key))
        tags = next((n for n, token in enumerate(source) if int(token) not in self._reserved), len(source))
        before, source = source[:tags], source[tags:]
        span = self._choose(source, target, chance)
        if span is None:
            return None
        texts = (
            self._tokenizer.decode(source[span.source_start : span.source_end]),
            self._tokenizer.decode(target[span.target_start : span.target_end]),
        )
        # As on a button; a corpus without capitals gets none.
        if chance.random() < 0.5 and self._begins_with_capital(source) and self._begins_with_capital(target):
            texts = capitalise(texts[0]), capitalise(texts[1])
        first, second = map(self._tokenizer.encode, texts)
        return [*before, *first] if tags else first, second

    def _begins_with_capital(self, ids: Ids) -> bool:
        return self._tokenizer.decode(ids)[:1].isupper()

    def _choose(self, source: Ids, target: Ids, chance: random.Random) -> PhraseSpan | None:
        """Return a phrase of a pair that begins at a random word; None: no word's translation is known."""
        links = self._marking.candidates(source, target)
        if not links:
            return None
        first = chance.randrange(len(links))
        last = min(len(links), first + chance.randint(1, MOST_ALIGNED))
        sides = list(self._marking.words.find(source)), list(self._marking.words.find(target))
        while not is_phrase(links, first, last, *sides):
            last -= 1
        return _span(links[first:last])


def is_phrase(
    links: Sequence[Link],
    first: int,
    last: int,
    source: Sequence[WordOccurrence],
    target: Sequence[WordOccurrence],
) -> bool:
    """Return whether ``links[first:last]`` bound a phrase and its translation; a single link always does.

    No other link enters either side of it, and both sides have equally many words without a link between,
    fewer than with one.

    Args:
        links: words that translate each other, in the source's order.
        first, last: the links of the phrase.
        source, target: all words of both sides.
    """
    if last - first == 1:
        return True
    span = _span(links[first:last])
    enters = (
        span.target_start <= right.start < span.target_end for _, right in (*links[:first], *links[last:])
    )
    extra = [
        sum(start <= word.start < end for word in words) - (last - first)
        for words, start, end in (
            (source, span.source_start, span.source_end),
            (target, span.target_start, span.target_end),
        )
    ]
    return not any(enters) and extra[0] == extra[1] < last - first


def _span(links: Sequence[Link]) -> PhraseSpan:
    rights = [right for _, right in links]
    return PhraseSpan(
        links[0][0].start,
        links[-1][0].end,
        min(right.start for right in rights),
        max(right.end for right in rights),
    )


def capitalise(text: str) -> str:
    """Return a text whose first letter is a capital."""
    return text[:1].upper() + text[1:]
