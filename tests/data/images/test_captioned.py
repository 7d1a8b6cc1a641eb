"""Captioned images: listed, zipped or generated; errors name the line of the list."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from multihead.data.images.shapes import COLOURS, PLACES, SHAPES, SIZE, SIZES, _cover, captions
from multihead.errors import UserError
from multihead.tasks.drawing import captioned
from multihead.tasks.drawing.caption_batches import CaptionBatches
from multihead.tasks.drawing.captioned import Captioned, prepare, split_captions
from multihead.tasks.drawing.settings import DataSettings, TokenizerSettings
from multihead.tasks.images.batches import pixels_of

WORDS = ("red cat", 'a "blue" dog', "green bird", "old red cat", "red cat", "sun")


def listed(folder: Path, rows: list[str], *, zipped: bool = False) -> dict[str, str]:
    lines = ["file\tcaption\tgroup", *rows]
    (folder / "list.tsv").write_text("\n".join(lines) + "\n")
    for number in range(len(WORDS)):
        Image.new("RGB", (5, 5), (number, 0, 0)).save(folder / f"{number}.png")
    if zipped:
        with zipfile.ZipFile(folder / "all.zip", "w") as packed:
            for number in range(len(WORDS)):
                packed.write(folder / f"{number}.png", f"{number}.png")
        return {"captions": "list.tsv", "images": "all.zip"}
    return {"captions": "list.tsv"}


def prepared(folder: Path, **keys: object) -> Captioned:
    data = {"dir": str(folder), "cache": str(folder / "cache"), "train_fraction": 0.6, **keys}
    return prepare(DataSettings.model_validate(data), TokenizerSettings(vocab_size=50))


ROWS = [f"{number}.png\t{words}\tx" for number, words in enumerate(WORDS)]


@pytest.mark.parametrize("zipped", [False, True])
def test_every_image_keeps_its_caption(tmp_path: Path, zipped: bool) -> None:
    found = prepared(tmp_path, **listed(tmp_path, ROWS, zipped=zipped))
    assert found.captions == WORDS
    assert (len(found.train) + len(found.valid), found.form.size, found.form.channels) == (6, 5, 3)
    for store in (found.train, found.valid):
        assert store.pixels[:, 0, 0, 0].tolist() == store.labels.tolist()


def test_equal_captions_stay_in_one_split() -> None:
    for seed in range(5):
        seen, unseen = (rows.tolist() for rows in split_captions(WORDS, 0.6, seed))
        assert sorted(seen + unseen) == list(range(6))
        assert not {WORDS[row] for row in seen} & {WORDS[row] for row in unseen}
        assert len({WORDS[row] for row in seen}) == 3


@pytest.mark.parametrize("fraction", [0.01, 0.99])
def test_at_least_one_caption_is_on_each_side(fraction: float) -> None:
    seen, unseen = split_captions(WORDS, fraction, 1)
    assert len(seen)
    assert len(unseen)


@pytest.mark.parametrize(
    ("rows", "fact"),
    [
        (["0.png\tred cat\tx", "none.png\tblue dog\tx"], r'list\.tsv:3: no image "none\.png"'),
        (["0.png\tred cat"], r"list\.tsv:2: 2 columns, but the header has 3"),
        (["0.png\t \tx"], r"list\.tsv:2: an image without a caption"),
        ([], "no image is listed"),
        (["0.png\tred cat\tx", "1.png\tred cat\tx"], "too few to hold some out"),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_fault_is_named_with_its_line(tmp_path: Path, rows: list[str], fact: str, zipped: bool) -> None:
    with pytest.raises(UserError, match=fact):
        prepared(tmp_path, **listed(tmp_path, rows, zipped=zipped))


def test_a_truncated_image_and_a_broken_archive_are_refused(tmp_path: Path) -> None:
    keys = listed(tmp_path, ROWS)
    (tmp_path / "3.png").write_bytes((tmp_path / "3.png").read_bytes()[:45])
    with pytest.raises(UserError, match=r"list\.tsv:5 \(3\.png\): the image is damaged or truncated"):
        prepared(tmp_path, **keys)
    (tmp_path / "all.zip").write_bytes(b"PK no archive")
    with pytest.raises(UserError, match=r"not a readable \.zip file"):
        prepared(tmp_path, captions="list.tsv", images="all.zip")


def test_a_damaged_or_encrypted_image_in_an_archive_is_refused(tmp_path: Path) -> None:
    keys = listed(tmp_path, ROWS)
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for number in range(len(WORDS)):
            packed.write(tmp_path / f"{number}.png", f"{number}.png")
        first, second = packed.infolist()[:2]
    whole = (tmp_path / "all.zip").read_bytes()
    directory = whole.index(b"PK\x01\x02")
    start = first.header_offset + 30 + len(first.filename)  # of the image, behind its header
    damaged = bytearray(whole)
    damaged[start : second.header_offset] = b"\xff" * (second.header_offset - start)
    encrypted = bytearray(whole)
    encrypted[first.header_offset + 6] |= 1
    encrypted[directory + 8] |= 1
    unknown = bytearray(whole)
    unknown[first.header_offset + 8] = unknown[directory + 10] = 97
    for content in (damaged, encrypted, unknown):
        (tmp_path / "all.zip").write_bytes(content)
        with pytest.raises(UserError, match=r"all\.zip: not a readable \.zip file \(.+data\.images"):
            prepared(tmp_path, **{**keys, "images": "all.zip"})


def test_an_archive_that_is_too_large_uncompressed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = listed(tmp_path, [*ROWS, ROWS[0]], zipped=True)
    total = sum((tmp_path / f"{number}.png").stat().st_size for number in range(len(WORDS)))
    monkeypatch.setattr(captioned, "MAX_TOTAL_BYTES", total)
    prepared(tmp_path, **keys)
    monkeypatch.setattr(captioned, "MAX_TOTAL_BYTES", total - 1)
    with pytest.raises(UserError, match=rf"all\.zip: its images are {total} bytes uncompressed"):
        prepared(tmp_path, **keys)


def test_the_generated_shapes_are_all_different_and_have_one_caption_each() -> None:
    assert len(set(captions())) == 9216
    assert captions()[4] == "a tiny red circle"  # in the middle, which goes without saying
    covers = {(size, shape): _cover(size, shape, "") for size in SIZES for shape in SHAPES}
    assert len({cover.tobytes() for cover in covers.values()}) == len(covers)
    assert len(set(COLOURS.values())) == 16
    for place, (x, y) in PLACES.items():
        mass = _cover("medium", "circle", place)
        middle = (mass * (np.arange(SIZE) + 0.5)).sum() / mass.sum()
        assert middle == pytest.approx(x, abs=0.01)
        assert (mass.T * (np.arange(SIZE) + 0.5)).sum() / mass.sum() == pytest.approx(y, abs=0.01)


def test_a_batch_has_captions_padded_on_the_right(tmp_path: Path) -> None:
    found = prepared(tmp_path, **listed(tmp_path, ROWS))
    batches = CaptionBatches(found, found.train)
    rows = [len(found.train) - 1, 0]
    batch = batches.batch(rows)
    assert torch.equal(batch.pixels_BChw, pixels_of(found.train, rows))
    for ids_T, length, row in zip(batch.text_BT, batch.lengths_B, rows, strict=True):
        assert ids_T[:length].tolist() == batches.ids[row]
        assert (ids_T[length:] == found.tokenizer.pad_id).all()
    assert batch.counts == {"images": 2, "text_tokens": int(batch.lengths_B.sum())}
