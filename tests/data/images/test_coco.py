"""Annotations in COCO's format: right ones are read, every broken one is a clear error with its place."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from multihead.errors import UserError
from multihead.tasks.detection.coco import read_coco
from multihead.tasks.detection.objects import StoredScenes, prepare_scenes
from multihead.tasks.detection.settings import DataSettings


def content() -> dict[str, Any]:
    return {
        "images": [
            {"id": 7, "file_name": "a.png", "width": 40, "height": 20},
            {"id": 3, "file_name": "b.png", "width": 10, "height": 30},
            {"id": 4, "file_name": "c.png", "width": 16, "height": 16},
        ],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 9, "bbox": [4, 6, 10, 8], "iscrowd": 0, "area": 55},
            {"id": 2, "image_id": 7, "category_id": 2, "bbox": [30, 10, 10.5, 11], "iscrowd": 1},
            {"id": 5, "image_id": 3, "category_id": 2, "bbox": [1, 2, 3, 4]},
        ],
        "categories": [{"id": 9, "name": "dog"}, {"id": 2, "name": "cat"}],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for listed in content()["images"]:
        image = Image.new("RGB", (listed["width"], listed["height"]), (200, 10, 10))
        image.save(tmp_path / listed["file_name"])
    write(tmp_path, content())
    return tmp_path


def write(folder: Path, given: object) -> None:
    (folder / "boxes.json").write_text(json.dumps(given), encoding="utf-8")


def test_annotations_are_read_and_cut_off_at_the_edge(folder: Path) -> None:
    found = read_coco([folder.name], folder.parent, "data.train")
    assert found.names == ("cat", "dog")
    first, second, third = found.images
    assert first.file == folder / "a.png"
    assert first.boxes_G4.tolist() == [[4, 6, 14, 14], [30, 10, 40, 20]]
    assert first.classes_G.tolist() == [1, 0]
    assert first.crowd_G.tolist() == [False, True]
    assert first.areas_G.tolist() == [55, 100]
    assert second.boxes_G4.tolist() == [[1, 2, 4, 6]]
    assert third.boxes_G4.shape == (0, 4)  # an image without objects
    again = read_coco(["boxes.json", "."], folder, "data.train")
    assert again.digest() == found.digest()


def test_images_without_an_entry_are_counted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("d.png", ".hidden.png"):
        (folder / name).write_bytes((folder / "a.png").read_bytes())
    (folder / "._boxes.json").write_bytes(b"a resource fork of macOS")
    read_coco(["."], folder, "data.train")
    assert caplog.messages == [f"{folder}: 1 images left out: they have no entry in boxes.json"]
    caplog.clear()
    read_coco(["boxes.json", "."], folder, "data.train")
    assert not caplog.messages


def test_boxes_that_lose_more_than_a_pixel_are_counted(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = content()
    given["annotations"][0]["bbox"] = [30, 10, 40, 20]  # right and bottom edge in place of width and height
    given["annotations"][2]["bbox"] = [-1, 2, 12, 29]
    write(folder, given)
    read_coco(["."], folder, "data.train")
    (message,) = caplog.messages
    assert "boxes.json: 1 boxes cut off at the edge of their image" in message


def test_boxes_as_fractions_of_the_image_are_refused(folder: Path) -> None:
    given = content()
    for row in given["annotations"]:
        row["bbox"] = [0.25, 0.25, 0.5, 0.75]
    write(folder, given)
    with pytest.raises(UserError, match=r"boxes\.json: all boxes lie in the first pixel.* not as fractions"):
        read_coco(["."], folder, "data.train")


def faults() -> list[tuple[str, Any, str]]:
    def changed(table: str, row: int, **keys: Any) -> dict[str, Any]:
        given = content()
        given[table][row].update(keys)
        return given

    return [
        (
            "outside",
            changed("annotations", 0, bbox=[50, 60, 10, 8]),
            "entry 1: the box .* has no part",
        ),
        (
            "negative",
            changed("annotations", 2, bbox=[1, 2, -1, 4]),
            "entry 3: the box .* has no part",
        ),
        ("short", changed("annotations", 1, bbox=[1, 2, 3]), "annotations, entry 2: bbox is not"),
        ("text", changed("annotations", 1, bbox=[1, 2, "3", 4]), "annotations, entry 2: bbox is not"),
        ("huge", changed("annotations", 1, bbox=[1, 2, 10**400, 4]), "annotations, entry 2: bbox is not"),
        ("crowd", changed("annotations", 0, iscrowd="1"), "annotations, entry 1: iscrowd is not 0 or 1"),
        ("same image", changed("images", 2, id=7), "images, entry 3: the id 7 is already another image's"),
        (
            "same id",
            changed("categories", 1, id=9),
            "categories, entry 2: the id 9 or the name .* is already",
        ),
        ("same name", changed("categories", 1, name="dog"), "entry 2: the id 2 or the name .dog. is already"),
        ("no list", changed("annotations", 1, bbox=None), "annotations, entry 2: bbox is not"),
        ("image", changed("annotations", 1, image_id=99), "entry 2: there is no image with the id 99"),
        ("class", changed("annotations", 1, category_id=99), "entry 2: there is no category with the id 99"),
        ("boolean", changed("annotations", 1, category_id=True), "category_id is not a whole number"),
        ("up", changed("images", 0, file_name="../a.png"), "images, entry 1: file_name .* leaves the folder"),
        ("root", changed("images", 0, file_name="/etc/passwd"), "images, entry 1: file_name .* leaves"),
        ("no name", changed("images", 1, file_name=7), "images, entry 2: file_name is not a text"),
        ("no width", changed("images", 1, width=0), "images, entry 2: width and height"),
        ("unnamed", changed("categories", 1, name=""), "categories, entry 2: name is not a text"),
        ("no images", content() | {"images": [], "annotations": []}, "there are no images"),
        ("other", {"images": {}}, 'no list "images"'),
        ("list", [1], 'no list "images"'),
    ]


@pytest.mark.parametrize(("given", "told"), [one[1:] for one in faults()], ids=[one[0] for one in faults()])
def test_a_fault_is_named_with_its_place(folder: Path, given: object, told: str) -> None:
    write(folder, given)
    with pytest.raises(UserError, match=told) as error:
        read_coco(["."], folder, "data.train")
    assert "boxes.json" in str(error.value)


def test_what_is_not_json_or_ambiguous_is_refused(folder: Path) -> None:
    (folder / "more.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="2 JSON files in this folder"):
        read_coco(["."], folder, "data.train")
    with pytest.raises(UserError, match="cannot be read as JSON"):
        read_coco(["more.json", "."], folder, "data.train")
    (folder / "more.json").write_text('{"images": [' + "[" * 100_000, encoding="utf-8")
    with pytest.raises(UserError, match="cannot be read as JSON"):
        read_coco(["more.json", "."], folder, "data.train")
    with pytest.raises(UserError, match="nothing: no such file or folder"):
        read_coco(["nothing"], folder, "data.train")
    with pytest.raises(UserError, match=r"data\.train: .*boxes\.json is not a folder in COCO's format"):
        read_coco(["boxes.json"], folder, "data.train")
    (folder / "labels").mkdir()  # as of YOLO and Pascal VOC
    with pytest.raises(
        UserError, match=r"0 JSON files in this folder\..* export the annotations in COCO's format"
    ):
        read_coco(["labels"], folder, "data.train")


def test_images_are_stored_with_scaled_boxes_and_without_crowds(folder: Path) -> None:
    data = DataSettings(dir=str(folder), train=(".",), valid=(".",), image_size=20, cache=str(folder / "x"))
    prepared = prepare_scenes(data, progress=lambda *_: None)
    again = prepare_scenes(data, progress=lambda *_: None)
    assert prepared.fingerprint == again.fingerprint
    assert isinstance(again.train, StoredScenes)
    scene = again.train.scene(0, 0)
    assert scene.boxes_M4.tolist() == [[2, 3, 7, 7]]
    assert scene.classes_M.tolist() == [1]
    assert abs(scene.pixels_Chw[:, :10].reshape(3, -1).mean(axis=1) - [200, 10, 10]).max() < 2
    assert len(again.train.scene(2, 0).classes_M) == 0
    assert again.most == 1
    assert again.report.endswith("\n  2 crowd regions left out")  # one of training, one of validation
    batch = np.concatenate([again.train.scene(row, 0).boxes_M4 for row in range(3)])
    assert len(batch) == 2


def test_an_image_of_another_size_or_missing_is_named(folder: Path) -> None:
    data = DataSettings(dir=str(folder), train=(".",), valid=(".",), cache=str(folder / "x"))
    Image.new("RGB", (41, 20)).save(folder / "a.png")
    with pytest.raises(
        UserError, match=r"a\.png: the image has 41 x 20 pixels, but the annotations say 40 x 20"
    ):
        prepare_scenes(data, progress=lambda *_: None)
    (folder / "a.png").unlink()
    with pytest.raises(UserError, match=r"a\.png: no such image"):
        prepare_scenes(data, progress=lambda *_: None)


def test_boxes_describe_the_image_turned_upright(folder: Path) -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.new("RGB", (20, 40)).save(folder / "a.png", exif=turned)
    data = DataSettings(dir=str(folder), train=(".",), valid=(".",), image_size=20, cache=str(folder / "x"))
    prepared = prepare_scenes(data, progress=lambda *_: None)
    assert prepared.train.scene(0, 0).boxes_M4.tolist() == [[2, 3, 7, 7]]


@pytest.mark.parametrize("side", ["train", "valid"])
def test_images_without_any_object_are_refused(folder: Path, side: str) -> None:
    (folder / "none.json").write_text(json.dumps(content() | {"annotations": []}), encoding="utf-8")
    names = {"train": ("boxes.json", "."), "valid": ("boxes.json", "."), side: ("none.json", ".")}
    data = DataSettings(dir=str(folder), cache=str(folder / "x"), **names)
    with pytest.raises(UserError, match=rf"data\.{side}: no image has an object"):
        prepare_scenes(data, progress=lambda *_: None)
