"""Padding of the key/value cache up to a whole register must be zero, because it is multiplied too.

Stale memory may hold subnormal numbers, which slow Intel's processors down a hundred times.
"""

from typing import Any

import numpy as np
import pytest
import torch
from laying_out import lay_out

from multihead.batch import Source
from multihead.engines.native.cache import ALIGNED, NativeCache
from multihead.models.transformer import Settings, Transformer
from multihead.system.native_library import Array

pytestmark = pytest.mark.usefixtures("native_level", "fresh_memory_is_nan")

BEGIN, VOCABULARY = 2, 31
WIDTHS = {"d_model": 22, "d_ff": 37, "num_heads": 2, "num_layers": 2, "d_k": 5, "d_v": 13}


@pytest.fixture
def fresh_memory_is_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    def empty(shape: tuple[int, ...], dtype: Any) -> Array:
        return np.full(shape, np.nan if dtype == np.float32 else 0x7FC0, dtype)  # NaN in bfloat16 too

    monkeypatch.setattr(np, "empty", empty)


def behind(keys: Array, values: Array, slots: int) -> list[Array]:
    """The padding that is multiplied with keys (..., d_k, room) and values (..., room, padded d_v)."""
    aligned = -(-slots // ALIGNED) * ALIGNED
    return [keys[..., slots:aligned], values[..., :slots, WIDTHS["d_v"] :]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("source", [3, 16, 19])
def test_keys_and_values_are_zero_padded(dtype: torch.dtype, source: int) -> None:
    sizes = {"source_vocab": VOCABULARY, "target_vocab": VOCABULARY, **WIDTHS}
    made = lay_out(Transformer(Settings.model_validate(sizes)).eval(), dtype)
    assert made is not None
    with torch.inference_mode():
        read = Source(torch.randint(4, VOCABULARY, (3, source)), torch.tensor([source, 2, 1]))
        state = made.start(read, [[BEGIN]] * 3)
        for step in range(30):
            if step == 11:
                state = state.keep(torch.tensor([2, 0]))
            if step == 23:
                state = state.select(torch.arange(2).repeat_interleave(3))
            logits, state = made.step(torch.full((state.sentences * state.rows,), 5), state)
            assert logits.isfinite().all()
            (cache,) = state.caches
            assert isinstance(cache, NativeCache)
            for part in (*behind(*cache._own, cache.slots), *behind(*cache._source, source)):
                assert (part[:, : cache.sentences] == 0).all()
            if step == 29:
                cache.compact(np.tile(np.arange(7), (cache.sentences, 1)))
                assert all((part == 0).all() for part in behind(*cache._own, 7))
