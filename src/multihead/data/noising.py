"""Noise in training sources on the fly: lower case, and typing errors (Belinkov & Bisk 2018).

It makes a model robust to missing capitals and misspelt words. All is a function of (seed, epoch, pair);
targets do not change.
"""

import random
from collections.abc import Sequence

from multihead.data.batches import Ids, Mark
from multihead.system import randomness
from multihead.text.tokenizer import Tokenizer

TYPOS = 0.08
"""Maximum fraction of wrong letters in a noisy source."""


class Noise:
    """Adds noise to the sources of pairs of token ids.

    Args:
        tokenizer: the sources' tokenizer. Reserved symbols, such as language tags, are preserved.
        rate: fraction of noisy sources; half of these lose their capitals, half get typing errors.
        seed: seeds the choice.
        longest: maximum number of tokens of a noisy source.
        before: applied first; sources that it marks get no noise.
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
        noisy_ids = [*ids[:start], *self._tokenizer.encode(noisy)]
        return noisy_ids if start < len(noisy_ids) <= self._longest else source


def misspelt(text: str, rate: float, chance: random.Random) -> str:
    """Return a text in which each letter is dropped, doubled or swapped with probability ``rate``."""
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
