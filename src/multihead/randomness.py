"""Random seeds derived from (seed, place of use), so that resuming needs no saved generator state."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def derive(seed: int, *keys: int | str) -> int:
    """Return a 63-bit seed from all arguments; it is the same in every process and on every machine."""
    text = "\0".join([str(seed), *map(repr, keys)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


@contextmanager
def at(seed: int, *keys: int | str) -> Iterator[None]:
    """Seed torch's generators from (seed, keys) inside the block; restore the CPU generator after it.

    >>> with at(1, "step", 7): a = torch.rand(())
    >>> with at(1, "step", 7): assert torch.equal(a, torch.rand(()))
    """
    before = torch.get_rng_state()
    torch.manual_seed(derive(seed, *keys))
    try:
        yield
    finally:
        torch.set_rng_state(before)
