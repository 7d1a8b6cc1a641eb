"""Holds texts out for validation by hash, so that equal texts stay together in any order."""

from collections.abc import Callable, Iterable

from multihead.data.hashes import sentence_hash
from multihead.system import randomness

LEAST, SHARE = 20, 5
"""Minimum number of texts to hold out, but at most one in SHARE."""
SURELY = 4
"""Multiple of the average need from which on counting stops."""


def held_out_texts(texts: Iterable[str], fraction: float, seed: int) -> Callable[[str], bool]:
    """Return a predicate that holds out about a fraction of the texts, and enough of a small set.

    Args:
        texts: all texts; of a large set, only the first are read.
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
    least = min(LEAST, len(different) // SHARE) or len(different) // 2
    if sum(number < threshold for number in different) < least:
        threshold = sorted(different)[least - 1] + 1
    return lambda text: place(text) < threshold
