"""A damaged cache is noticed at the next start, and the data is prepared again, whatever is damaged and how.

A new kind of prepared data joins by one line in ``KINDS``.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from corpora import Corpus, some_pairs
from PIL import Image

from multihead.data.checksums import NAME, DamagedError, check
from multihead.data.hashes import contamination
from multihead.tasks.drawing import captioned
from multihead.tasks.drawing import settings as drawing
from multihead.tasks.images import prepare as images
from multihead.tasks.images import settings as image_settings
from multihead.tasks.language import settings as language
from multihead.tasks.language.packed import pack
from multihead.tasks.masked import settings as masked
from multihead.tasks.masked.texts import prepare_texts


def silent(stage: str, done: int, total: int | None) -> None:
    pass


def pairs(folder: Path) -> None:
    corpus = Corpus(folder)
    corpus.write(some_pairs(53))
    corpus.prepare()


def texts(folder: Path) -> None:
    (folder / "texts").write_text("".join(f"{source}\n" for source, _ in some_pairs(53)), encoding="utf-8")
    data = masked.DataSettings(
        dir=str(folder), files=("texts",), valid_fraction=0.2, cache=str(folder / "cache")
    )
    settings = masked.TokenizerSettings(kind="wordpiece", vocab_size=97)
    prepare_texts(data, settings, progress=silent)


def packed_text(folder: Path) -> None:
    (folder / "text").write_text("".join(f"line {number}\n" for number in range(53)), encoding="utf-8")
    data = language.DataSettings(dir=str(folder), files=("text",), cache=str(folder / "cache"))
    pack(data, language.TokenizerSettings(kind="chars"), progress=silent)


def listed(folder: Path, heading: str, *columns: str) -> str:
    for number in range(len(columns)):
        Image.new("RGB", (5, 5), (number, 0, 0)).save(folder / f"{number}.png")
    rows = [f"{number}.png,{column}" for number, column in enumerate(columns)]
    (folder / "list.csv").write_text("\n".join([f"file,{heading}", *rows]) + "\n")
    return "list.csv"


def labelled_images(folder: Path) -> None:
    data = {"dir": str(folder), "cache": str(folder / "cache"), "valid_fraction": 0.3}
    files = (listed(folder, "label", *"abababab"),)
    images.prepare(image_settings.DataSettings.model_validate({**data, "train": files}))


def captioned_images(folder: Path) -> None:
    data = {"dir": str(folder), "cache": str(folder / "cache"), "train_fraction": 0.6}
    listing = listed(folder, "caption", "red cat", "a dog", "green bird", "old cat", "sun")
    settings = drawing.DataSettings.model_validate({**data, "captions": listing})
    captioned.prepare(settings, drawing.TokenizerSettings(vocab_size=50))


KINDS = (pairs, texts, packed_text, labelled_images, captioned_images)
KIND = pytest.mark.parametrize("prepare", KINDS, ids=lambda prepare: prepare.__name__)


def cache(folder: Path) -> Path:
    """Return the one folder of the cache."""
    (found,) = (folder / "cache").iterdir()
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def flip(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def cut(path: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def remove(path: Path, chance: random.Random) -> None:
    path.unlink()


@KIND
def test_damage_to_each_file_is_said_and_mended(
    prepare: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(tmp_path)
    whole, chance = contents(cache(tmp_path)), random.Random(7)
    assert len(whole) > 4
    for number, name in enumerate(whole):
        caplog.clear()
        damage = (flip, cut, remove)[number % 3] if whole[name] else remove
        damage(cache(tmp_path) / name, chance)
        prepare(tmp_path)
        (said,) = caplog.messages
        assert said.endswith("; the data is prepared again"), said
        assert name in said or name == NAME, said
        assert contents(cache(tmp_path)) == whole


@KIND
def test_whole_data_is_found_again_in_silence(
    prepare: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(tmp_path)
    before = cache(tmp_path).stat().st_ino
    prepare(tmp_path)
    assert cache(tmp_path).stat().st_ino == before
    assert not caplog.messages


def test_data_of_version_0_1_0_which_has_no_checksums_is_prepared_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pairs(tmp_path)
    (cache(tmp_path) / NAME).unlink()
    pairs(tmp_path)
    assert caplog.messages == [f"{cache(tmp_path)}: it has no checksums; the data is prepared again"]


def test_hashes_that_are_damaged_are_not_counted_with(tmp_path: Path) -> None:
    pairs(tmp_path)
    sources = [source for source, _ in some_pairs(53)]
    assert contamination(cache(tmp_path), sources) > 20
    flip(cache(tmp_path) / "train.source.hashes.npy", random.Random(7))
    with pytest.raises(DamagedError, match=r"hashes\.npy is damaged"):
        contamination(cache(tmp_path), sources)


@pytest.mark.parametrize("text", ["", "[]", "7", "{", "[" * 100_000, '{"a": 1}'])
def test_damaged_checksums_are_damage(tmp_path: Path, text: str) -> None:
    pairs(tmp_path)
    (cache(tmp_path) / NAME).write_text(text)
    with pytest.raises(DamagedError):
        check(cache(tmp_path))


def test_the_checksums_are_those_of_sha256sum(tmp_path: Path) -> None:
    pairs(tmp_path)
    known = json.loads((cache(tmp_path) / NAME).read_text())
    assert known.keys() == contents(cache(tmp_path)).keys() - {NAME}
    assert all(len(digest) == 64 for digest in known.values())
