"""Protects the words of training pairs that must survive, as search does, on the fly.

Variables, addresses, numbers and identifiers (``text.placeholder_patterns``) that both sides share become
placeholders in a part of the draws, so that the model learns where each of them goes. In the other draws it
learns what they mean. In some, names that both sides share are replaced by others and by made-up ones
(``text.names``), so that it learns to copy names. All is a function of (seed, epoch, pair).
"""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from multihead.data.batches import Ids
from multihead.data.marking import Marking
from multihead.system import randomness
from multihead.text import symbols
from multihead.text.marked import MarkedTokenizer
from multihead.text.names import rename, shared_names
from multihead.text.placeholder_patterns import CARRIED, PlaceholderSpan, find
from multihead.text.symbols import PLACEHOLDERS
from multihead.text.tokenizer import Tokenizer

RENAMED = 0.3
"""Fraction of the pairs whose names are replaced."""
LEAST_NAMES = 200
"""Fewest different names that a sample of a corpus must share to teach copying."""
MOST_PAIRS = 100_000
"""Pairs whose protected form is kept in memory, about a kilobyte each."""


class Protection:
    """Puts placeholders into pairs of token ids.

    Args:
        tokenizer: the tokenizer of both sides, which reserves placeholders.
        changed: kinds, shapes and words that stay, as in search (``text.changed_kinds``).
        rate: fraction of the pairs to protect.
        seed: seeds the choice.
        longest: maximum number of tokens of a protected side.
        before: applied first; pairs that it marks stay as they are.
        names: names to put in the places of others; with fewer than ``LEAST_NAMES`` names stay.

    Attributes:
        symbols: the symbols that pairs get.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        changed: Collection[str],
        rate: float,
        seed: int,
        longest: int,
        before: Marking,
        names: Sequence[str] = (),
    ) -> None:
        self._tokenizer, self._marked = tokenizer, MarkedTokenizer(tokenizer)
        self._changed, self._rate = frozenset(changed), rate
        self._seed, self._longest, self._before = seed, longest, before
        self._pairs: dict[int, _Pair] = {}
        self._reserved = frozenset(tokenizer.symbols.values())
        self._names = names if len(names) >= LEAST_NAMES else ()
        self.symbols = before.symbols
        self._placeholders = [name for name in PLACEHOLDERS if name in tokenizer.symbols]

    def __call__(
        self, sources: Sequence[Ids], targets: Sequence[Ids], keys: Sequence[tuple[int, int]]
    ) -> tuple[Sequence[Ids], Sequence[Ids]]:
        """Return the pairs, some of them protected; arguments as of ``Marking``."""
        sources, targets = self._before(sources, targets, keys)
        pairs = [self._protect(*pair) for pair in zip(sources, targets, keys, strict=True)]
        return [source for source, _ in pairs], [target for _, target in pairs]

    def _protect(self, source: Ids, target: Ids, key: tuple[int, int]) -> tuple[Ids, Ids]:
        chance = random.Random(randomness.derive(self._seed, "protected", *key))
        protects, renames = chance.random() < self._rate, bool(self._names) and chance.random() < RENAMED
        tags = next((n for n, token in enumerate(source) if int(token) not in self._reserved), len(source))
        before, source = source[:tags], source[tags:]  # as <2de> and <bt>
        if (protects or renames) and self._reserved.isdisjoint(map(int, source)):
            source, target = self._draw(source, target, key[1], chance, protects=protects, renames=renames)
        return ([*before, *source] if tags else source), target

    def _draw(
        self, source: Ids, target: Ids, index: int, chance: random.Random, *, protects: bool, renames: bool
    ) -> tuple[Ids, Ids]:
        pair = self._pairs.get(index)
        if pair is None:
            pair = self._prepare(source, target)
            if len(self._pairs) < MOST_PAIRS:
                self._pairs[index] = pair
        if not (renames and pair.has_names):
            return pair.ids if protects and pair.ids else (source, target)
        texts = pair.marked
        if not (protects and texts):
            texts = self._decode(source), self._decode(target)
        return self._encode(*rename(*texts, self._names, chance)) or (source, target)

    def _prepare(self, source: Ids, target: Ids) -> "_Pair":
        plain = self._tokenizer.decode(source), self._tokenizer.decode(target)
        has_names = bool(self._names and shared_names(*plain))
        first = find(plain[0], CARRIED, self._changed)
        second = find(plain[1], CARRIED, self._changed) if first else []
        symbol_of = dict(zip(same_on_both_sides(first, second), self._placeholders, strict=False))
        if not symbol_of:
            return _Pair(None, None, has_names)
        marked = mark(plain[0], first, symbol_of), mark(plain[1], second, symbol_of)
        ids = self._encode(*marked)
        return _Pair(marked if ids else None, ids, has_names)

    def _decode(self, ids: Ids) -> str:
        return symbols.escape(self._tokenizer.decode(ids))

    def _encode(self, source: str, target: str) -> tuple[Ids, Ids] | None:
        """Return the ids of marked texts; None if one is too long."""
        ids = self._marked.encode(source), self._marked.encode(target)
        return ids if max(map(len, ids)) <= self._longest else None


class _Pair(NamedTuple):
    """The protected form of a pair, which all epochs share.

    Attributes:
        marked: its marked texts; None: nothing to protect.
        ids: their token ids.
        has_names: whether both sides share names.
    """

    marked: tuple[str, str] | None
    ids: tuple[Ids, Ids] | None
    has_names: bool


def same_on_both_sides(source: Sequence[PlaceholderSpan], target: Sequence[PlaceholderSpan]) -> list[str]:
    """Return the texts of spans that each side has once, in the source's order."""
    counts = [Counter(span.text for span in side) for side in (source, target)]
    return [span.text for span in source if counts[0][span.text] == counts[1][span.text] == 1]


def mark(text: str, spans: Sequence[PlaceholderSpan], names: dict[str, str]) -> str:
    """Return marked text with a symbol in the place of each span that has one."""
    parts, end = [], 0
    for span in spans:
        if span.text in names:
            parts += [symbols.escape(text[end : span.start]), names[span.text]]
            end = span.end
    return "".join([*parts, symbols.escape(text[end:])])
