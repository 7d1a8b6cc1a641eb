"""Texts held out for validation by hash, so that equal texts stay together whatever their order."""

from collections.abc import Callable, Iterable

from multihead.data.hashes import sentence_hash
from multihead.system import randomness

LEAST, SHARE = 20, 5
"""Texts held out at least, but at most one in so many."""
SURELY = 4
"""Multiple of the texts that suffice on average, from which on there is no need to count."""


def held_out_texts(texts: Iterable[str], fraction: float, seed: int) -> Callable[[str], bool]:
    """Return a predicate that holds out about a fraction of the texts, and enough of a few.

    Args:
        texts: all texts; of many, only the first are read.
        fraction: fraction to hold out.
        seed: seeds the choice.
    """
    salt = randomness.derive(seed, "held out")
    threshold = int(fraction * (1 << 32))

    def place(text: str) -> int:
        return sentence_hash(f"{salt} {text}") & 0xFFFFFFFF

    different: set[int] = set()
    for text in texts:
        if text.strip():
            different.add(place(text))
        if len(different) * fraction > SURELY * LEAST:
            return lambda text: place(text) < threshold
    wanted = min(LEAST, len(different) // SHARE) or len(different) // 2
    if sum(one < threshold for one in different) < wanted:
        threshold = sorted(different)[wanted - 1] + 1
    return lambda text: place(text) < threshold
