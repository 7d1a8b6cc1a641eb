"""Fraction of padding in the batches of a real corpus."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from multihead.data.plan import Lengths, epoch_plan

SHARED = Path(__file__).parents[3] / "shared" / "data" / "multi30k"


def lengths_of(name: str) -> Lengths:
    """Lengths in words and punctuation marks, about those in subwords."""
    text = gzip.decompress((SHARED / name).read_bytes()).decode()
    return np.array(
        [len(line.split()) + line.count(".") + line.count(",") for line in text.split("\n")[:-1]], "i4"
    )


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data/multi30k")
def test_multi30k_needs_little_padding_and_fills_its_batches() -> None:
    source, target = lengths_of("train.de.gz"), lengths_of("train.en.gz")
    plan = epoch_plan(source, target, 4096, 1, 0)
    places = sum(len(rows) * (int(source[rows].max()) + int(target[rows].max()) + 2) for rows in plan)
    real = int(source.sum() + target.sum()) + 2 * len(source)
    assert 1 - real / places < 0.04
    sizes = [int(target[rows].sum()) + len(rows) for rows in plan]
    assert max(sizes) <= 4096
    assert min(sizes) > 0.9 * 4096
    # Few sizes, so that few shapes are compiled; large batches have at most two others.
    many = [len(rows) for rows in plan if len(rows) >= 256]
    assert len(many) > 30
    assert sum(size % 4 != 0 for size in many) <= 2
