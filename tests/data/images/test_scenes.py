"""Generated scenes: repeatable, and every box encloses what is visible of its object."""

import numpy as np
import pytest
from PIL import Image

from multihead.tasks.detection.objects import GeneratedScenes, SceneBatches, generated_test_scenes, letterbox
from multihead.tasks.detection.scenes import ImageStencils, SceneMaker, ShapeStencils
from multihead.tasks.detection.settings import DataSettings


def test_a_scene_is_a_function_of_seed_and_number() -> None:
    one, again, other = (SceneMaker(ShapeStencils(), 71, 5, seed) for seed in (3, 3, 4))
    assert (one.scene(17).pixels_Chw == again.scene(17).pixels_Chw).all()
    assert (one.scene(17).pixels_Chw != other.scene(17).pixels_Chw).any()
    assert (one.scene(17).pixels_Chw != one.scene(18).pixels_Chw).any()


def test_scenes_have_one_to_the_largest_number_of_objects_inside_the_image() -> None:
    maker = SceneMaker(ShapeStencils(), 96, 8, 1)
    scenes = [maker.scene(number) for number in range(101)]
    counts = {len(scene.classes_M) for scene in scenes}
    assert counts == set(range(1, 9))
    for scene in scenes:
        left, top, right, bottom = scene.boxes_M4.T
        assert scene.pixels_Chw.shape == (3, 96, 96)
        assert (left >= 0).all()
        assert (top >= 0).all()
        assert (right <= 96).all()
        assert (bottom <= 96).all()
        assert (right - left >= 3).all()
        assert (bottom - top >= 3).all()
    assert {int(kind) for scene in scenes for kind in scene.classes_M} == set(range(8))


def test_the_box_of_a_single_object_encloses_its_pixels() -> None:
    white = np.full((1, 9, 13), 255, dtype=np.uint8)
    maker = SceneMaker(ImageStencils(white, np.array([0]), ("block",)), 64, 1, 5)
    for number in range(7):
        scene = maker.scene(number)
        left, top, right, bottom = scene.boxes_M4[0].astype(int)
        inside = scene.pixels_Chw[:, top:bottom, left:right].astype(float)
        assert inside.std(axis=(1, 2)).max() < 6  # one colour, but for noise
        around = scene.pixels_Chw.astype(float).copy()
        around[:, top:bottom, left:right] = np.nan
        ring = around[:, max(0, top - 1) : bottom + 1, max(0, left - 1) : right + 1]
        gap = abs(np.nanmean(ring, axis=(1, 2)) - inside.mean(axis=(1, 2))).max()
        assert gap > 20


def test_a_batch_holds_fractions_of_the_image_and_pads_with_minus_one() -> None:
    scenes = GeneratedScenes(SceneMaker(ShapeStencils(), 48, 6, 2), 11)
    batch = SceneBatches(scenes).batch(np.arange(5), 3)
    assert batch.pixels_BChw.shape == (5, 3, 48, 48)
    assert batch.objects == (batch.classes_BM >= 0).sum()
    for row in range(5):
        scene = scenes.scene(row, 3)
        assert (scene.pixels_Chw == scenes.maker.scene(3 * 11 + row).pixels_Chw).all()
        count = len(scene.classes_M)
        centre, size = batch.boxes_BM4[row, :count, :2], batch.boxes_BM4[row, :count, 2:]
        assert np.allclose((centre - size / 2).numpy() * 48, scene.boxes_M4[:, :2], atol=1e-4)
        assert np.allclose((centre + size / 2).numpy() * 48, scene.boxes_M4[:, 2:], atol=1e-4)
        assert (batch.classes_BM[row, count:] == -1).all()


def test_mirrored_images_have_mirrored_boxes() -> None:
    scenes = GeneratedScenes(SceneMaker(ShapeStencils(), 48, 6, 2), 37)
    plain = SceneBatches(scenes).batch(np.arange(23), 0)
    flipped = SceneBatches(scenes, 1, flip=True).batch(np.arange(23), 0)
    turned = [row for row in range(23) if not np.allclose(plain.pixels_BChw[row], flipped.pixels_BChw[row])]
    assert 4 < len(turned) < 19
    for row in turned:
        assert np.allclose(plain.pixels_BChw[row].flip(-1), flipped.pixels_BChw[row])
        count = int((plain.classes_BM[row] >= 0).sum())
        x, mirrored = plain.boxes_BM4[row, :count, 0], flipped.boxes_BM4[row, :count, 0]
        assert np.allclose(1 - x, mirrored, atol=1e-5)


def test_the_test_set_is_the_same_for_every_seed_of_the_data() -> None:
    sets = [generated_test_scenes(DataSettings(generate="shapes", seed=seed)) for seed in (1, 2)]
    assert (sets[0].scene(7, 0).pixels_Chw == sets[1].scene(7, 0).pixels_Chw).all()
    assert len(sets[0]) == 1000


@pytest.mark.parametrize(("width", "height"), [(90, 60), (31, 83), (48, 48)])
def test_an_image_is_scaled_to_its_longer_side(width: int, height: int) -> None:
    image = Image.new("RGB", (width, height), (255, 255, 255))
    pixels, scale = letterbox(image, 48)
    assert pixels.shape == (3, 48, 48)
    assert scale == 48 / max(width, height)
    rows, columns = round(height * scale), round(width * scale)
    assert (pixels[:, :rows, :columns] == 255).all()
    assert (pixels == 255).sum() == 3 * rows * columns
