"""Preparation of labelled images from folders, lists, IDX files and generated digits."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from multihead.data.images.digits import SIZE, draw_digits
from multihead.errors import UserError
from multihead.tasks.images.prepare import PreparedImages, prepare
from multihead.tasks.images.settings import DataSettings

N, HEIGHT, WIDTH = 11, 5, 7


def idx(folder: Path, labels: list[int], name: str = "train") -> tuple[str, str]:
    """Images of which the i-th has shade i."""
    pixels = np.repeat(np.arange(len(labels), dtype=np.uint8), HEIGHT * HEIGHT)
    names = f"{name}-images-idx3-ubyte.gz", f"{name}-labels-idx1-ubyte"
    images = struct.pack(">4I", 0x803, len(labels), HEIGHT, HEIGHT) + pixels.tobytes()
    (folder / names[0]).write_bytes(gzip.compress(images))
    (folder / names[1]).write_bytes(struct.pack(">2I", 0x801, len(labels)) + bytes(labels))
    return names


def folders(folder: Path) -> Path:
    """Two classes: six colour images of cats, and five of dogs of another size."""
    for name, size, count in (("cat", (WIDTH, HEIGHT), 6), ("dog", (HEIGHT, 9), 5)):
        (folder / "animals" / name).mkdir(parents=True)
        for number in range(count):
            Image.new("RGB", size, (number, 0, 0)).save(folder / "animals" / name / f"{number}.png")
    (folder / "animals" / "cat" / "notes.txt").write_text("no image")
    return folder / "animals"


def listing(folder: Path, lines: list[str]) -> str:
    Image.new("L", (WIDTH, WIDTH)).save(folder / "a.png")
    (folder / "list.csv").write_text("\n".join(["file,label", *lines]) + "\n")
    return "list.csv"


def prepared(tmp_path: Path, **keys: object) -> PreparedImages:
    data = {"dir": str(tmp_path), "cache": str(tmp_path / "cache"), **keys}
    return prepare(DataSettings.model_validate(data))


def test_validation_images_are_held_out_of_idx_files_and_keep_their_labels(tmp_path: Path) -> None:
    labels = [number % 3 for number in range(N)]
    found = prepared(tmp_path, train=idx(tmp_path, labels), valid_fraction=0.2)
    assert (len(found.train), len(found.valid), found.held_out) == (9, 2, True)
    assert found.class_names == ("0", "1", "2")
    assert (found.form.size, found.form.channels, found.converted) == (HEIGHT, 1, 0)
    shades = [int(image[0, 0, 0]) for store in (found.train, found.valid) for image in store.pixels]
    stored = [int(label) for store in (found.train, found.valid) for label in store.labels]
    assert sorted(shades) == list(range(N))
    assert stored == [labels[shade] for shade in shades]


def test_class_names_may_include_classes_without_images(tmp_path: Path) -> None:
    names = ("shirt", "shoe", "bag", "hat")
    found = prepared(tmp_path, train=idx(tmp_path, [0, 2, 2]), class_names=names)
    assert found.class_names == names


def test_images_of_a_folder_are_converted_to_one_size_and_counted(tmp_path: Path) -> None:
    folders(tmp_path)
    found = prepared(tmp_path, train=("animals",))
    assert found.class_names == ("cat", "dog")
    assert found.train.pixels.shape[1:] == (3, HEIGHT, HEIGHT)
    assert "11 converted from another size or mode" in found.report
    assert "lose their colours" not in found.report
    grey = prepared(tmp_path, train=("animals",), channels="grey", image_size=3)
    assert grey.train.pixels.shape[1:] == (1, 3, 3)
    Image.new("L", (WIDTH, HEIGHT)).save(tmp_path / "animals" / "cat" / "0.png")  # the first one decides
    grey = prepared(tmp_path, train=("animals",))
    assert "\n  10 colour images lose their colours; data.channels = colour keeps them" in grey.report


def test_files_of_a_folder_that_are_left_out_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = folders(tmp_path)
    (folder / "cat" / "3.heic").write_bytes(b"not readable here")
    (folder / "dog" / "._0.png").write_bytes(b"a resource fork of macOS")
    (folder / "dog" / ".ipynb_checkpoints").mkdir()
    (folder / "dog" / ".ipynb_checkpoints" / "0.png").write_bytes((folder / "dog" / "0.png").read_bytes())
    (folder / "cow").mkdir()
    (folder / "loose.png").write_bytes((folder / "dog" / "0.png").read_bytes())
    found = prepared(tmp_path, train=("animals",))
    assert (len(found.train) + len(found.valid), found.class_names) == (11, ("cat", "dog"))
    assert caplog.messages == [
        f"{folder}: 2 other files left out (.heic, .txt)",
        f"{folder}: 1 images outside the class folders left out",
        f"{folder}: folders without images left out (cow)",
    ]


def test_classes_without_training_images_are_named(tmp_path: Path) -> None:
    folder = folders(tmp_path)
    for number in range(1, 5):
        (folder / "dog" / f"{number}.png").unlink()
    reports = [prepared(tmp_path, train=("animals",), seed=seed).report for seed in range(9)]
    named = [report.endswith("\n  1 classes without training images (dog)") for report in reports]
    assert any(named)
    assert not all(named)


def test_splits_and_a_single_class_are_refused(tmp_path: Path) -> None:
    folders(tmp_path).rename(tmp_path / "train")
    folders(tmp_path).rename(tmp_path / "valid")
    (tmp_path / "all").mkdir()
    for name in ("train", "valid"):
        (tmp_path / name).rename(tmp_path / "all" / name)
    with pytest.raises(UserError, match=r"splits, not classes \(train, valid\). Name one of them as"):
        prepared(tmp_path, train=("all",))
    (tmp_path / "all" / "train" / "dog").rename(tmp_path / "dog")
    with pytest.raises(UserError, match='all images are of the class "cat"'):
        prepared(tmp_path, train=("all/train",))


def test_a_list_of_files_and_labels_is_read(tmp_path: Path) -> None:
    name = listing(tmp_path, ["a.png,cat", "a.png,dog", "", "a.png,cat"])
    found = prepared(tmp_path, train=(name,), valid=(name,))
    assert found.class_names == ("cat", "dog")
    assert found.valid.labels.tolist() == [0, 1, 0]


def test_prepared_images_are_cached_until_the_files_change(tmp_path: Path) -> None:
    folders(tmp_path)
    first = prepared(tmp_path, train=("animals",))
    again = prepared(tmp_path, train=("animals",))
    assert again.fingerprint == first.fingerprint
    assert again.train.pixels.filename == first.train.pixels.filename  # type: ignore[attr-defined]
    Image.new("RGB", (WIDTH, HEIGHT), "white").save(tmp_path / "animals" / "cat" / "0.png")
    assert prepared(tmp_path, train=("animals",)).fingerprint != first.fingerprint


def test_a_truncated_store_is_built_again(tmp_path: Path) -> None:
    folders(tmp_path)
    first = prepared(tmp_path, train=("animals",))
    whole = first.train.pixels.copy()
    file = next((tmp_path / "cache").glob("images-*/train/pixels.npy"))
    file.write_bytes(file.read_bytes()[:-5])
    assert np.array_equal(prepared(tmp_path, train=("animals",)).train.pixels, whole)


def test_max_images_limits_the_training_images(tmp_path: Path) -> None:
    names = idx(tmp_path, [0, 1] * 10)
    assert len(prepared(tmp_path, train=names, max_images=7).train) == 7


def test_generated_digits_are_a_function_of_the_seed_and_all_different() -> None:
    pixels, labels = draw_digits(20, seed=1)
    again, _ = draw_digits(20, seed=1)
    other, _ = draw_digits(20, seed=2)
    assert pixels.shape == (20, SIZE, SIZE)
    assert labels.tolist() == [*range(10), *range(10)]
    assert np.array_equal(pixels, again)
    assert not np.array_equal(pixels, other)
    assert not np.array_equal(pixels[3], pixels[13])


@pytest.mark.parametrize(
    ("lines", "fact", "place"),
    [
        (["a.png,cat", "b.png,cat"], 'no image "b.png"', "list.csv:3"),
        (["a.png,cat", "a.png"], '1 cells between ",", but the first row has 2', "list.csv:3"),
        (["a.png,"], "an image without a label", "list.csv:2"),
        ([], "no image is listed", "list.csv"),
    ],
)
def test_a_fault_in_a_list_is_named_with_its_line(
    tmp_path: Path, lines: list[str], fact: str, place: str
) -> None:
    with pytest.raises(UserError) as caught:
        prepared(tmp_path, train=(listing(tmp_path, lines),))
    assert fact in caught.value.fact
    assert caught.value.place == str(tmp_path / place)


def test_a_truncated_image_in_a_list_is_named_with_its_line(tmp_path: Path) -> None:
    name = listing(tmp_path, ["a.png,cat", "b.png,dog"])
    (tmp_path / "b.png").write_bytes((tmp_path / "a.png").read_bytes()[:43])
    with pytest.raises(UserError, match=r"list\.csv:3 \(b\.png\): the image is damaged or truncated"):
        prepared(tmp_path, train=(name,))


def test_a_label_outside_the_classes_is_refused_with_its_line(tmp_path: Path) -> None:
    train = listing(tmp_path, ["a.png,cat", "a.png,dog"])
    (tmp_path / "valid.csv").write_text("file,label\na.png,cat\na.png,cow\n")
    with pytest.raises(UserError, match=r'valid\.csv:3 .*label "cow" is not one of the classes \(cat, dog\)'):
        prepared(tmp_path, train=(train,), valid=("valid.csv",))


def test_a_number_outside_the_classes_is_refused_with_the_image(tmp_path: Path) -> None:
    names = idx(tmp_path, [0, 1, 2, 1])
    with pytest.raises(UserError, match=r'image 3: label "2" is not one of the classes \(0, 1\)'):
        prepared(tmp_path, train=names, class_names=("shirt", "shoe"))


@pytest.mark.parametrize(
    ("names", "fact"),
    [
        ((), "no training images are named"),
        (("none",), "no such file or folder"),
        (("empty",), "no images in the subfolders"),
        (("train-images-idx3-ubyte.gz",), "an IDX file of images needs one of labels"),
        (("train-labels-idx1-ubyte", "train-images-idx3-ubyte.gz"), "1 dimensions, but images need 3"),
        (("train-images-idx3-ubyte.gz", "other-labels-idx1-ubyte"), "5 labels for the 4 images"),
        (("a", "b", "c"), "no such file or folder"),
        (("bad.csv",), 'no columns "file" and "label"'),
    ],
)
def test_unusable_training_images_are_refused(tmp_path: Path, names: tuple[str, ...], fact: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.csv").write_text("image;class\n")
    idx(tmp_path, [0, 1, 0, 1])
    idx(tmp_path, [0, 1, 0, 1, 0], name="other")
    with pytest.raises(UserError, match=fact.replace("(", r"\(")):
        prepared(tmp_path, train=names)
