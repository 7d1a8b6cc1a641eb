"""`multihead data make shapes`: scenes whose boxes are read back as they were made."""

from pathlib import Path

import numpy as np
from command_line import Captured, run
from PIL import Image

from multihead.tasks.detection.coco import read_coco
from multihead.tasks.detection.coco_writing import ANNOTATIONS, coco_files
from multihead.tasks.detection.scenes import NAMES, Scene, SceneMaker, ShapeStencils

EMPTY = Scene(np.zeros((3, 5, 7), np.uint8), np.zeros((0, 4), np.float32), np.zeros(0, np.int64))


def test_the_command_writes_a_folder_that_is_read_back(tmp_path: Path, capfdbinary: Captured) -> None:
    said, _ = run(capfdbinary, "data", "make", "shapes", "--count", 7, "--to", tmp_path / "made")
    assert said.startswith("7 scenes of 1 to 8 shapes, with boxes in instances.json, in ")
    found = read_coco(["made"], tmp_path, "data.train")
    assert found.names == NAMES
    assert [one.file.name for one in found.images] == [f"0000{number}.png" for number in range(1, 8)]
    for one in found.images:
        with Image.open(one.file) as image:
            assert image.size == (one.width, one.height) == (96, 96)
        assert 1 <= len(one.boxes_G4) == len(one.classes_G) <= 8


def test_another_seed_makes_other_scenes(tmp_path: Path, capfdbinary: Captured) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run(capfdbinary, "data", "make", "shapes", "--count", 2, "--seed", seed, "--to", tmp_path / name)
    first, again, other = ((tmp_path / name / ANNOTATIONS).read_bytes() for name in "abc")
    assert first == again != other


def test_boxes_and_pixels_are_those_of_the_scenes(tmp_path: Path) -> None:
    scenes = [SceneMaker(ShapeStencils(), size=31, seed=5).scene(number) for number in range(3)]
    for name, content in coco_files([*scenes, EMPTY], NAMES):
        (tmp_path / name).write_bytes(content)
    found = read_coco([str(tmp_path)], Path(), "data.train").images
    assert len(found) == 4
    for scene, one in zip([*scenes, EMPTY], found, strict=True):
        np.testing.assert_allclose(one.boxes_G4, scene.boxes_M4)
        np.testing.assert_array_equal(one.classes_G, scene.classes_M)
        with Image.open(one.file) as image:
            np.testing.assert_array_equal(np.asarray(image).transpose(2, 0, 1), scene.pixels_Chw)
