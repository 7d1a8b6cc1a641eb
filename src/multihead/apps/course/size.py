"""Sizes of the course's experiments."""

import os

VARIABLE = "MULTIHEAD_COURSE"
"""Environment variable; ``small`` runs every experiment in a few seconds, to test that it runs."""


def size(full: int, small: int) -> int:
    """Return the size of an experiment: ``full``, or ``small`` if only its code is tested."""
    return small if os.environ.get(VARIABLE) == "small" else full
