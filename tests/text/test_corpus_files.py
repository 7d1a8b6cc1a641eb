"""The files of a corpus in folders and archives."""

import bz2
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from multihead.data.pairs import read_pairs
from multihead.data.prepare import prepare
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.system import archives
from multihead.text.corpus_files import CorpusFiles, choose_files
from multihead.workflows.resolve_recipe import resolve_recipe

CORPUS = {"train.de": "ja\nnein\n", "train.en": "yes\nno\n"}
PAIRS = [("ja", "yes"), ("nein", "no")]
GERMAN_ENGLISH: dict[str, Any] = {"source_language": "de", "target_language": "eng"}
MOSES = ("README", "a.de-en.de", "a.de-en.en", "a.de-en.ids", "a.de-en.xml")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def write_zip(path: Path, files: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def write_tar(path: Path, files: dict[str, str], mode: str = "w:gz") -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


def pairs(folder: Path, *files: str, targets: tuple[str, ...] = (), **data: str) -> list[tuple[str, str]]:
    return list(read_pairs(DataSettings.model_validate({"dir": str(folder), **data}), files, targets))


def choose(*names: str, languages: tuple[str, str] = ("de", "en")) -> CorpusFiles:
    return choose_files(names, languages, "x.zip", lambda name: name.endswith((".tmx", ".xml", ".parquet")))


@pytest.mark.parametrize(
    ("names", "source", "target"),
    [
        (MOSES, "a.de-en.de", "a.de-en.en"),
        (("training/a.de-en.de", "training/a.de-en.en", "b.fr-en.fr", "b.fr-en.en"),
         "training/a.de-en.de", "training/a.de-en.en"),
        (("n-src.de.sgm", "n-ref.en.sgm"), "n-src.de.sgm", "n-ref.en.sgm"),
        (("train.deu", "train.eng", "dev.deu", "dev.eng", "train-parts/x.deu", "train-parts/x.eng"),
         "train.deu", "train.eng"),
        (("de.txt", "en.txt"), "de.txt", "en.txt"),
        (("train.de.gz", "train.en.gz", "test.de.gz", "test.en.gz", ".a/train.de"),
         "train.de.gz", "train.en.gz"),
    ],
)  # fmt: skip
def test_two_files_that_differ_in_the_language_belong_together(
    names: tuple[str, ...], source: str, target: str
) -> None:
    assert choose(*names).train == ([source], [target])


def test_parts_of_a_file_that_holds_both_sides_belong_together() -> None:
    parts = [f"train-0000{number}-of-00002.parquet" for number in (0, 1)]
    assert choose(*parts, "test-00000-of-00001.parquet").train == (parts, [])
    assert choose("de-en/train.parquet", "fr-en/train.parquet").train == (["de-en/train.parquet"], [])
    assert choose("a/de-en.tmx", "LICENSE").train == (["a/de-en.tmx"], [])


def test_validation_files_come_from_the_folder_too(tmp_path: Path) -> None:
    assert choose("train.de", "train.en", "dev.de", "dev.en").valid == (["dev.de"], ["dev.en"])
    for name in ("train", "valid", "test"):
        for code in ("de", "en"):
            (tmp_path / f"{name}.{code}").write_text("".join(f"{name} {n} {code}\n" for n in range(211)))
    given = {"data.source_language": "de", "data.target_language": "en"}
    recipe = resolve_recipe(None, {"source": (str(tmp_path),)}, given, run=None, init=None)
    assert recipe.data.target == (f"{tmp_path}/train.en",)
    assert recipe.data.valid_source == (f"{tmp_path}/valid.de",)


@pytest.mark.parametrize(
    ("names", "languages", "fact"),
    [
        (MOSES, ("", ""), r"from which language to which is not named \(it holds de, en\)"),
        (MOSES, ("de", "fr"), r"no pair of de and fr \(it holds de, en\)"),
        (("a.de", "a.en", "b.de", "b.en"), ("de", "en"), "several files fit: a.de and a.en; b.de and b.en"),
        (("a.de", "b.fr"), ("de", "en"), r"no two files of two languages.*\(it holds a.de, b.fr\)"),
        ((), ("de", "en"), "it holds nothing"),
        (("train.de", "train.en", "train.fr", "dev.de", "dev.en"), ("de", ""), "not named .*de, en, fr"),
    ],
)
def test_an_open_choice_is_asked(names: tuple[str, ...], languages: tuple[str, str], fact: str) -> None:
    with pytest.raises(UserError, match=fact):
        choose(*names, languages=languages)


def test_archives_are_read_as_they_are(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.zip", {**CORPUS, "LICENSE": "..."})
    write_tar(tmp_path / "a.tgz", {f"deep/{name}": text for name, text in CORPUS.items()})
    write_tar(tmp_path / "a.tar.bz2", CORPUS, "w:bz2")
    write_zip(
        tmp_path / "deu-eng.zip", {"_about.txt": "?", "deu.txt": "yes\tja\tCC-BY 2\nno\tnein\tCC-BY 2\n"}
    )
    for name in ("a.zip", "a.tgz", "a.tar.bz2", "deu-eng.zip"):
        assert pairs(tmp_path, name, **GERMAN_ENGLISH) == PAIRS
    assert pairs(tmp_path, "a.tgz/deep/train.en", targets=("a.zip/train.de",)) == [p[::-1] for p in PAIRS]
    for code in ("de", "en"):
        (tmp_path / f"a.{code}.bz2").write_bytes(bz2.compress(CORPUS[f"train.{code}"].encode()))
    assert pairs(tmp_path, "a.de.bz2", targets=("a.en.bz2",)) == PAIRS


def test_errors_name_the_member_of_an_archive(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.zip", {**CORPUS, "train.en": "yes\n"})
    with pytest.raises(UserError, match=r"^a\.zip/train\.de: 2 lines, but a\.zip/train\.en has 1"):
        pairs(tmp_path, "a.zip", **GERMAN_ENGLISH)
    with pytest.raises(UserError, match=r"a\.zip/no\.de: no such file in the archive. Its files: train.de"):
        pairs(tmp_path, "a.zip/no.de", targets=("a.zip/train.en",))


def test_an_archive_prepares_the_store_of_its_files(tmp_path: Path) -> None:
    lines = "".join(f"wort {'x' * (number % 7 + 1)} {number}\n" for number in range(211))
    write_zip(tmp_path / "a.zip", {"train.de": lines, "train.en": lines})
    for name in ("train.de", "train.en"):
        (tmp_path / name).write_text(lines)
    plain = DataSettings(dir=str(tmp_path), source=("train.de",), target=("train.en",))
    archive = DataSettings(dir=str(tmp_path), source=("a.zip",), **GERMAN_ENGLISH)
    settings = TokenizerSettings(vocab_size=283)
    assert prepare(plain, settings).folder == prepare(archive, settings).folder


def test_hostile_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LEAST_LIMIT", 1 << 20)
    zeros = "\0" * (1 << 21)
    write_zip(tmp_path / "bomb.zip", {**CORPUS, "a": zeros})
    write_tar(tmp_path / "bomb.tgz", {**CORPUS, "a": zeros})
    write_zip(tmp_path / "up.zip", {**CORPUS, "../../up.de": "x"})
    write_tar(tmp_path / "up.tar.gz", {**CORPUS, "/etc/up.de": "x"})
    (tmp_path / "cut.zip").write_bytes((tmp_path / "up.zip").read_bytes()[:100])
    (tmp_path / "cut.tgz").write_bytes((tmp_path / "bomb.tgz").read_bytes()[:100])
    (tmp_path / "text.zip").write_text("text")
    write_tar(tmp_path / "twice.tar", {"train.de": "x"}, "w")
    with tarfile.open(tmp_path / "twice.tar", "a") as archive:
        archive.addfile(tarfile.TarInfo("train.de"))
    for name, fact in {
        "bomb.zip": "expands to more than",
        "bomb.tgz": "expands to more than",
        "up.zip": "a member's path leads out",
        "up.tar.gz": "a member's path leads out",
        "cut.zip": "not an archive that can be read",
        "cut.tgz": "not an archive that can be read",
        "text.zip": "not an archive that can be read",
        "twice.tar": "holds 'train.de' twice",
    }.items():
        with pytest.raises(UserError, match=rf"{name}: {fact}"):
            pairs(tmp_path, name, **GERMAN_ENGLISH)


def test_an_encrypted_archive_is_refused(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.zip", CORPUS)
    content = bytearray((tmp_path / "a.zip").read_bytes())
    for magic, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        start = content.find(magic)
        while start >= 0:
            content[start + offset] |= 1
            start = content.find(magic, start + 4)
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.zip: encrypted"):
        pairs(tmp_path, "a.zip", **GERMAN_ENGLISH)
