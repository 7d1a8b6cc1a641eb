"""Detection of loops: an output that repeats the same n-gram over and over."""

from collections.abc import Hashable, Sequence

LONGEST = 12
"""Longest repeated n-gram that is looked for, in tokens."""
REPEATS = 4
"""Consecutive repetitions of an n-gram that make a loop; of three tokens and more, one less."""
ALLOWED = 1.5
"""An output may repeat as often as its source does, times this."""


def repeats(tokens: Sequence[Hashable]) -> int:
    """Return the largest number of times that an n-gram occurs in direct succession.

    >>> repeats("abc"), repeats("aaaab"), repeats("xababab")
    (1, 4, 3)
    """
    return max((_run(tokens, size) for size in range(1, min(LONGEST, len(tokens) // 2) + 1)), default=1)


def loops(output: Sequence[int], source: Sequence[int] = ()) -> bool:
    """Return True if an output repeats an n-gram much more often than its source repeats one.

    Args:
        output: tokens of the output.
        source: tokens of its source.
    """
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
