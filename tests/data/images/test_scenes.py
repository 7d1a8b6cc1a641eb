"""Generated scenes: repeatable, and every box encloses what is visible of its object."""

import numpy as np
import pytest
from PIL import Image

from multihead.tasks.detection.objects import GREY, GeneratedScenes, generated_test_scenes, letterbox
from multihead.tasks.detection.scene_batches import SceneBatches, rescale
from multihead.tasks.detection.scenes import ImageStencils, Scene, SceneMaker, ShapeStencils
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


@pytest.mark.parametrize("scale", [0.5, 0.83, 1.0, 1.31, 1.7])
@pytest.mark.parametrize("place", [(0.0, 0.0), (0.37, 0.71), (1.0, 1.0)])
def test_a_box_still_encloses_its_object_in_a_rescaled_image(
    scale: float, place: tuple[float, float]
) -> None:
    pixels = np.zeros((3, 101, 101), dtype=np.uint8)
    pixels[:, 31:59, 41:83] = 255
    scene = rescale(Scene(pixels, np.array([[41, 31, 83, 59]], np.float32), np.array([3])), scale, place)
    assert scene.pixels_Chw.shape == (3, 101, 101)
    assert scene.classes_M.tolist() == [3]
    rows, columns = np.nonzero(scene.pixels_Chw[0] > 184)  # between the padding and white
    assert np.allclose(
        scene.boxes_M4[0], [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1], atol=1.5
    )
    assert (scene.pixels_Chw == GREY).any() == (scale < 1)
    if scale == 1:
        assert (scene.pixels_Chw == pixels).all()


def test_an_object_that_is_nearly_cut_off_is_left_out() -> None:
    boxes = np.array([[0, 0, 20, 20], [40, 40, 60, 60], [70, 10, 90, 30]], np.float32)
    scene = Scene(np.zeros((3, 100, 100), np.uint8), boxes, np.array([0, 1, 2]))
    # Twice as large, from (50, 50): nothing is left of the first, less than a sixth of the third.
    zoomed = rescale(scene, 2, (0.5, 0.5))
    assert zoomed.classes_M.tolist() == [1]
    assert zoomed.boxes_M4.tolist() == [[30, 30, 70, 70]]


def test_scale_jitter_differs_between_epochs_and_repeats_within_one() -> None:
    scenes = GeneratedScenes(SceneMaker(ShapeStencils(), 48, 6, 2), 37)
    stored = [scenes.scene(row, 0) for row in range(11)]
    plain = SceneBatches(scenes).batch(np.arange(11), 0)
    jittered = [
        SceneBatches(FixedScenes(stored), 1, scale_jitter=0.4).batch(np.arange(11), e) for e in (0, 0, 1)
    ]
    assert (jittered[0].pixels_BChw == jittered[1].pixels_BChw).all()
    assert (jittered[0].pixels_BChw != jittered[2].pixels_BChw).any()
    # Width and height of a whole object change by the same factor, which is at most 0.4 from 1.
    whole = [row for row in range(11) if (jittered[0].classes_BM[row] == plain.classes_BM[row]).all()]
    assert len(whole) > 2
    for row in whole:
        sizes = jittered[0].boxes_BM4[row, 0, 2:] / plain.boxes_BM4[row, 0, 2:]
        assert 0.2 < sizes.min() <= sizes.max() < 1.45


class FixedScenes(list[Scene]):
    """The same images in every epoch."""

    def scene(self, index: int, epoch: int) -> Scene:
        return self[index]


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
