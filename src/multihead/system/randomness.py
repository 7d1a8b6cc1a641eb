"""Random seeds derived from (seed, place of use), so that resuming needs no saved generator state."""

import hashlib
import importlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def derive(seed: int, *keys: int | str) -> int:
    """Return a 63-bit seed from all arguments; it is the same in every process and on every machine."""
    text = "\0".join([str(seed), *map(repr, keys)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


@contextmanager
def at(seed: int, *keys: int | str) -> Iterator[None]:
    """Seed the generators of torch, NumPy and Python from (seed, keys) inside the block.

    After it, the generators of the CPU are as before.

    >>> with at(1, "step", 7): a = torch.rand(())
    >>> with at(1, "step", 7): assert torch.equal(a, torch.rand(()))
    """
    torch: Any = importlib.import_module("torch")  # here: preparing data needs seeds, but not PyTorch
    before, of_numpy, of_python = torch.get_rng_state(), np.random.get_state(), random.getstate()
    derived = derive(seed, *keys)
    torch.manual_seed(derived)
    np.random.seed(derived % 2**32)
    random.seed(derived)
    try:
        yield
    finally:
        torch.set_rng_state(before)
        np.random.set_state(of_numpy)
        random.setstate(of_python)
