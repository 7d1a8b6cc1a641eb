"""Noise in training sources, made on the fly: lower case, and typing errors (Belinkov & Bisk 2018).

A model that has met them translates a text without capitals, and words with a letter wrong. All is a function
of (seed, epoch, pair); targets stay as they are.
"""

import random
from collections.abc import Sequence

from multihead.data.batches import Ids, Mark
from multihead.system import randomness
from multihead.text.tokenizer import Tokenizer

TYPOS = 0.08
"""Part of the letters of a noisy source that are wrong, at most."""


class Noise:
    """Puts noise into the sources of pairs of token ids.

    Args:
        tokenizer: of the sources. Sources that have reserved symbols, such as language tags, keep them.
        rate: part of the sources that get noise; half of these lose their capitals, half get typing errors.
        seed: seeds the choice.
        longest: no noisy source has more tokens.
        before: applied first; what it marks gets no noise.
    """

    def __init__(
        self, tokenizer: Tokenizer, rate: float, seed: int, longest: int, before: Mark | None = None
    ) -> None:
        self._tokenizer, self._rate, self._seed = tokenizer, rate, seed
        self._longest, self._before = longest, before
        self._symbols = frozenset(tokenizer.symbols.values())

    def __call__(
        self, sources: Sequence[Ids], targets: Sequence[Ids], keys: Sequence[tuple[int, int]]
    ) -> tuple[Sequence[Ids], Sequence[Ids]]:
        """Return the pairs, some of them with noise; arguments as of ``Marking``."""
        if self._before is not None:
            sources, targets = self._before(sources, targets, keys)
        return [self._one(source, key) for source, key in zip(sources, keys, strict=True)], targets

    def _one(self, source: Ids, key: tuple[int, int]) -> Ids:
        chance = random.Random(randomness.derive(self._seed, "noise", *key))
        if chance.random() >= self._rate:
            return source
        ids = list(map(int, source))
        start = next((n for n, token in enumerate(ids) if token not in self._symbols), len(ids))
        if not self._symbols.isdisjoint(ids[start:]) or self._tokenizer.unk_id in ids:
            return source
        text = self._tokenizer.decode(ids[start:])
        noisy = text.lower() if chance.random() < 0.5 else misspelt(text, chance.random() * TYPOS, chance)
        made = [*ids[:start], *self._tokenizer.encode(noisy)]
        return made if start < len(made) <= self._longest else source


def misspelt(text: str, rate: float, chance: random.Random) -> str:
    """Return a text in which letters are left out, doubled or swapped with the next.

    Args:
        text: the text.
        rate: probability of an error at each letter.
        chance: random numbers.
    """
    letters = list(text)
    place = 0
    while place < len(letters):
        if letters[place].isalpha() and chance.random() < rate:
            kind = int(chance.random() * 3)
            if kind == 0:
                letters[place] = ""
            elif kind == 1:
                letters[place] *= 2
            elif place + 1 < len(letters) and letters[place + 1].isalpha():
                letters[place : place + 2] = letters[place + 1], letters[place]
                place += 1
        place += 1
    return "".join(letters)
