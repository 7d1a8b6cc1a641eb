"""Detection of loops: outputs that repeat an n-gram over and over."""

from collections.abc import Hashable, Sequence

LONGEST = 12
"""Length of the longest n-gram to check, in tokens."""
REPEATS = 4
"""Consecutive repetitions of an n-gram that make a loop; one less for n >= 3."""
ALLOWED = 1.5
"""Factor on the repetitions of the source that an output may have."""


def repeats(tokens: Sequence[Hashable]) -> int:
    """Return the largest number of consecutive occurrences of an n-gram.

    >>> repeats("abc"), repeats("aaaab"), repeats("xababab")
    (1, 4, 3)
    """
    return max((_run(tokens, size) for size in range(1, min(LONGEST, len(tokens) // 2) + 1)), default=1)


def loops(output: Sequence[int], source: Sequence[int] = ()) -> bool:
    """Return whether an output repeats an n-gram much more often than its source repeats one."""
    allowed = ALLOWED * repeats(source) if source else 1
    for size in range(1, min(LONGEST, len(output) // 2) + 1):
        limit = REPEATS if size < 3 else REPEATS - 1
        if _run(output, size) >= max(limit, allowed + 1):
            return True
    return False


def _run(tokens: Sequence[Hashable], size: int) -> int:
    """Return the largest number of consecutive occurrences of an n-gram of this size."""
    best = equal = 0
    for place in range(size, len(tokens)):
        equal = equal + 1 if tokens[place] == tokens[place - size] else 0
        best = max(best, equal)
    return 1 + best // size
