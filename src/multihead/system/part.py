"""A part of a list of work: ``--part i/n``, for arrays of jobs."""

import re
from collections.abc import Sequence
from typing import TypeVar

from multihead.errors import UserError

T = TypeVar("T")
PART = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


def parse_part(text: str) -> tuple[int, int]:
    """Return i and n of a part "i/n". Raises ``UserError`` unless 1 <= i <= n."""
    match = PART.fullmatch(text)
    i, n = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= i <= n:
        raise UserError(f"--part {text}: there is no such part", remedy="Give 1/4, 2/4, 3/4 or 4/4 of four.")
    return i, n


def part_of(items: Sequence[T], i: int, n: int) -> Sequence[T]:
    """Return part ``i`` of ``n``, counted from 1: every n-th item."""
    return items[i - 1 :: n]
