"""Sets of images: one odd image, repeatable, and as many different ones as it should have."""

import numpy as np
import pytest

from multihead.errors import UserError
from multihead.tasks.sets.image_sets import SetMaker

LABELS = np.repeat(np.arange(5), 13)
PIXELS = np.arange(65, dtype=np.uint8)[:, None, None, None] * np.ones((1, 1, 3, 3), dtype=np.uint8)


def test_a_set_has_one_image_of_another_class() -> None:
    maker = SetMaker(PIXELS, LABELS, 7, 3)
    places = set()
    for number in range(65):
        members, odd = maker.members(number, 2)
        places.add(odd)
        kinds = LABELS[members]
        assert members[odd] == number
        assert len({*members.tolist()}) == 7
        others = {int(kind) for place, kind in enumerate(kinds) if place != odd}
        assert len(others) == 1
        assert others != {int(kinds[odd])}
    assert places == set(range(7))


def test_sets_are_a_function_of_seed_epoch_and_number() -> None:
    one, again, other = (SetMaker(PIXELS, LABELS, 7, seed) for seed in (3, 3, 4))
    assert one.members(11, 2)[0].tolist() == again.members(11, 2)[0].tolist()
    assert one.members(11, 2)[0].tolist() != one.members(11, 3)[0].tolist()
    assert one.members(11, 2)[0].tolist() != other.members(11, 2)[0].tolist()


def test_all_images_and_classes_take_part() -> None:
    maker = SetMaker(PIXELS, LABELS, 7, 3)
    seen = {int(row) for number in range(65) for row in maker.members(number, 0)[0]}
    assert seen == set(range(65))


def test_a_batch_holds_the_pixels_of_its_sets() -> None:
    maker = SetMaker(PIXELS, LABELS, 7, 3)
    batch = maker.batch(np.array([5, 60]), 1)
    assert batch.pixels_BNChw.shape == (2, 7, 1, 3, 3)
    members, odd = maker.members(60, 1)
    assert (batch.pixels_BNChw[1, :, 0, 0, 0] * 255).round().long().tolist() == members.tolist()
    assert batch.odd_B[1] == odd


def test_too_few_images_of_a_class_are_refused() -> None:
    with pytest.raises(UserError, match="0 classes have at least 13 images"):
        SetMaker(PIXELS[::2], LABELS[::2], 14, 1)
