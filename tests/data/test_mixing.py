"""Temperature sampling of corpora: exact proportions, a function of (seed, epoch)."""

from collections import Counter

import numpy as np
import pytest

from multihead.data.mixing import draw_epoch, shares

SIZES = [7, 101, 1009]


def test_at_temperature_one_every_pair_is_drawn_once_an_epoch() -> None:
    counts = shares(SIZES, [1, 1, 1], 1.0)
    assert counts == SIZES
    for epoch in (0, 3):
        assert sorted(draw_epoch(SIZES, counts, 5, epoch)) == list(range(sum(SIZES)))


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0, 100.0])
@pytest.mark.parametrize("weights", [[1, 1, 1], [3, 0.5, 1], [1e-300, 1e-300, 2e-300], [1e300, 1, 1]])
def test_shares_follow_the_formula_and_add_up(temperature: float, weights: list[float]) -> None:
    counts = shares(SIZES, weights, temperature)
    assert sum(counts) == sum(SIZES)
    mass = [
        weight / max(weights) * size ** (1 / temperature) for size, weight in zip(SIZES, weights, strict=True)
    ]
    for count, part in zip(counts, mass, strict=True):
        # Rounded; and a corpus that would get none gets one pair, which another gives up.
        assert abs(count - sum(SIZES) * part / sum(mass)) <= len(SIZES)
        assert count >= 1


def test_a_corpus_of_weight_zero_is_never_drawn() -> None:
    counts = shares(SIZES, [0, 1, 0], 3.0)
    assert counts == [0, sum(SIZES), 0]
    chosen = draw_epoch(SIZES, counts, 1, 2)
    assert set(chosen) == set(range(7, 108))


@pytest.mark.parametrize(("size", "count"), [(11, 4), (11, 11), (11, 29), (1, 3)])
def test_over_epochs_no_pair_is_drawn_more_than_once_more_than_another(size: int, count: int) -> None:
    sizes, counts = [5, size, 3], [5, count, 3]
    seen: Counter[int] = Counter(dict.fromkeys(range(5, 5 + size), 0))
    for epoch in range(7):
        chosen = draw_epoch(sizes, counts, 13, epoch)
        assert len(chosen) == sum(counts)
        seen.update(index for index in chosen.tolist() if 5 <= index < 5 + size)
        assert max(seen.values()) - min(seen.values()) <= 1
        assert sum(seen.values()) == count * (epoch + 1)


def test_the_choice_is_a_function_of_seed_and_epoch() -> None:
    counts = shares(SIZES, [1, 1, 1], 4.0)
    again = draw_epoch(SIZES, counts, 3, 2)
    assert np.array_equal(draw_epoch(SIZES, counts, 3, 2), again)
    assert not np.array_equal(draw_epoch(SIZES, counts, 4, 2), again)
    assert not np.array_equal(draw_epoch(SIZES, counts, 3, 1), again)
