"""Bilingual files as training pairs."""

import gzip
import lzma
from pathlib import Path

import pytest
import zstandard
from document_samples import samples

from multihead_documents.errors import DocumentError
from multihead_documents.parallel import read_pairs

SAMPLES = samples()


def pairs(folder: Path, name: str, *languages: str) -> list[tuple[str, str, str]]:
    (folder / name).write_bytes(SAMPLES[name])
    return [
        (str(s), str(t), place.removeprefix(f"{folder}/"))
        for s, t, place in read_pairs(folder / name, *languages)
    ]


@pytest.mark.parametrize("name", ["memory.tmx", "utf16.tmx"])
def test_a_memory_gives_the_pairs_of_two_languages(name: str, tmp_path: Path) -> None:
    german, english = "Ein {1}Haus{/1} & {2/}.", "A {2/} {1}house{/1}."
    assert pairs(tmp_path, name, "de", "en") == [(german, english, f"{name}:7")]
    assert pairs(tmp_path, name, "en", "de-DE") == [
        ("A {1/} {2}house{/2}.", "Ein {2}Haus{/2} & {1/}.", f"{name}:8")
    ]


def test_xliff_gives_what_is_translated_and_needs_no_review(tmp_path: Path) -> None:
    assert pairs(tmp_path, "one.xlf") == [("Ein.", "하나.", "one.xlf:13")]
    assert pairs(tmp_path, "two.xlf", "en", "de") == [("Bye", "Tschüss", "two.xlf:10")]
    assert pairs(tmp_path, "one.xlf", "ko", "de") == [("하나.", "Ein.", "one.xlf:13")]


def test_a_catalogue_gives_what_is_translated_and_not_fuzzy(tmp_path: Path) -> None:
    assert pairs(tmp_path, "ko.po") == [("Fertig", "완료", "ko.po:29")]
    assert pairs(tmp_path, "ko.po", "ko", "de") == [("완료", "Fertig", "ko.po:29")]


def test_messages_of_qt_give_what_is_finished(tmp_path: Path) -> None:
    assert pairs(tmp_path, "app.ts", "de", "ko") == [("Fertig", "완료", "app.ts:19")]
    assert pairs(tmp_path, "app.ts", "ko", "de") == [("완료", "Fertig", "app.ts:19")]


def test_a_string_catalogue_gives_the_pairs_of_two_languages(tmp_path: Path) -> None:
    name = "Localizable.xcstrings"
    korean = [("Fertig", "완료", f"{name}:56"), ("Geräte", "기기", f"{name}:66")]
    assert pairs(tmp_path, name, "de", "ko") == korean
    assert pairs(tmp_path, name, "ko", "de") == [(target, source, place) for source, target, place in korean]
    assert pairs(tmp_path, name, "de", "zh-Hans") == [("%lld Dateien", "%lld 个文件", f"{name}:7")]


def test_compressed_memories_are_read(tmp_path: Path) -> None:
    for name, pack in (
        ("a.tmx.gz", gzip.compress),
        ("a.tmx.xz", lzma.compress),
        ("a.tmx.zst", zstandard.compress),
    ):
        (tmp_path / name).write_bytes(pack(SAMPLES["memory.tmx"]))
        assert len(list(read_pairs(tmp_path / name, "de", "en"))) == 1
        (tmp_path / name).write_bytes(pack(SAMPLES["memory.tmx"])[:-20])
        with pytest.raises(DocumentError, match=r"damaged|not well-formed"):
            list(read_pairs(tmp_path / name, "de", "en"))


@pytest.mark.parametrize(
    ("name", "languages", "message"),
    [
        ("memory.tmx", (), "no pair of languages named"),
        ("memory.tmx", ("de", "fr"), r"no unit in both de and fr \(languages: de-DE, en, de\)"),
        ("memory.tmx", ("de", "de"), "no unit in both de and de"),
        ("one.xlf", ("fr", "ko"), "from de to an unnamed one. Wanted: from fr to ko"),
        ("ru.po", ("en", "ru"), "no translated segment"),
        ("plain.txt", (), "not a bilingual file"),
        ("strings.xml", (), "not a bilingual file"),
        ("app.ts", ("en", "ko"), "from de to an unnamed one"),
        ("Localizable.xcstrings", ("en", "ko"), "from de to ko. Wanted: from en to ko"),
        ("Localizable.xcstrings", ("de", "fr"), "no translated segment"),
    ],
)
def test_a_file_without_such_pairs_is_refused(
    name: str, languages: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DocumentError, match=message):
        pairs(tmp_path, name, *languages)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for name in ("a.tmx", "a.tmx.gz", "a.po"):
        with pytest.raises(DocumentError, match="no such file"):
            list(read_pairs(tmp_path / name, "de", "en"))
