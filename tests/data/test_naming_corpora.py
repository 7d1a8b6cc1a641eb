"""corpora.toml: what it names, and every mistake in it, named before anything is trained."""

from pathlib import Path
from typing import Any

import pytest

from multihead.data.corpora import basis, corpora, directions, symbols
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings

ONE = 'source_language = "de"\ntarget_language = "en"\nsource = "a.de"\ntarget = "a.en"\n'


def named(folder: Path, *entries: str, **data: Any) -> DataSettings:
    text = "".join(f"[[corpus]]\n{entry}\n" for entry in entries)
    (folder / "corpora.toml").write_text(text, encoding="utf-8")
    return DataSettings(dir=str(folder), corpora="corpora.toml", **data)


def test_a_corpus_has_languages_files_weight_and_tags(tmp_path: Path) -> None:
    more = 'name = "law"\nweight = 3\ntags = ["legal", "bt"]\nboth_directions = true\n'
    more += 'tests.new = ["t.de", "t.en"]\n'
    first, law = corpora(named(tmp_path, ONE, ONE + more, temperature=5.0))
    assert (first.name, first.weight, first.tags, first.directions) == ("de-en", 1.0, (), [("de", "en")])
    assert first.files.source == (str(tmp_path / "a.de"),)
    assert first.files.target == (str(tmp_path / "a.en"),)
    assert (law.name, law.weight, law.tags) == ("law", 3.0, ("<domain-legal>", "<bt>"))
    assert law.directions == [("de", "en"), ("en", "de")]
    assert law.files.tests == {"new": (str(tmp_path / "t.de"), str(tmp_path / "t.en"))}
    assert directions([first, law]) == [("de", "en"), ("en", "de")]
    assert symbols([first, law]) == ["<2en>", "<2de>", "<domain-legal>", "<bt>"]
    assert len(basis([first, law])) == 2


def test_corpora_are_named_without_a_file_too() -> None:
    data = DataSettings(
        corpus={"DE-en": ("a.de", "a.en"), "zh-Hant:en": ("b.tsv",)}, both_directions=True, dir="folder"
    )
    first, second = corpora(data)
    assert first.directions == [("de", "en"), ("en", "de")]
    assert second.directions == [("zh-Hant", "en"), ("en", "zh-Hant")]
    assert second.files.source == ("folder/b.tsv",)
    assert second.files.target == ()
    assert symbols([second]) == ["<2en>", "<2zh-hant>"]


@pytest.mark.parametrize(
    ("entries", "fact"),
    [
        ([], "no corpus in it"),
        ([ONE, ONE], 'two corpora are called "de-en"'),
        ([ONE.replace('"de"', '"dx"')], '"dx" is a language code that no standard lists.*qaa'),
        ([ONE.replace('"de"', '"German"')], '"German" is not a language code. Write "de"'),
        ([ONE.replace('"de"', '"eng"')], 'source and target have the same language, "en"'),
        ([ONE + "weight = 0"], "the weights sum to nothing"),
        ([ONE + "weight = -1"], "weight = -1"),
        ([ONE + "weight = nan"], "weight = nan"),
        ([ONE + "weight = inf"], "weight = inf"),
        ([ONE + "weight = true"], "weight = true"),
        ([ONE + 'weight = "2"'], 'weight = "2"'),
        ([ONE + 'tags = ["<ph0>"]'], '"<ph0>" is not a tag of a domain'),
        ([ONE + 'tags = ["le gal"]'], '"le gal" cannot be a tag'),
        ([ONE + 'wieght = 2'], 'unknown key "wieght".*weight'),
        ([ONE.replace('source = "a.de"\n', "")], '"source" is missing'),
        ([ONE.replace('"a.de"', "[]")], "no source file is named"),
        ([ONE.replace('"a.de"', "7")], "source = 7"),
        ([ONE + "[x"], "not TOML"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(tmp_path: Path, entries: list[str], fact: str) -> None:
    with pytest.raises(UserError, match=fact) as caught:
        corpora(named(tmp_path, *entries))
    assert "corpora.toml" in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"\xff", b"[corpus]\n", b"corpus = 3\n", b"corpus = [3]\n", b"[other]\n"]
)
def test_a_file_that_lists_no_corpora_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "corpora.toml").write_bytes(content)
    with pytest.raises(UserError, match=r"corpora\.toml"):
        corpora(DataSettings(dir=str(tmp_path), corpora="corpora.toml"))


def test_a_list_of_corpora_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        corpora(DataSettings(dir=str(tmp_path), corpora="none.toml"))
    with pytest.raises(UserError, match="cannot be read"):
        corpora(DataSettings(dir=str(tmp_path.parent), corpora=tmp_path.name))


@pytest.mark.parametrize(
    "changes",
    [
        {"source": ("a.de",)},
        {"valid_target": ("a.de",)},
        {"corpus": {"de-en": ("a", "b")}},
    ],
)
def test_files_beside_corpora_are_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(UserError):
        corpora(named(tmp_path, ONE, **changes))


@pytest.mark.parametrize("languages", ["de", "de-en-fr", "de:", "-", "zh-Hant-en", "de:en:fr"])
def test_languages_that_are_not_two_are_refused(languages: str) -> None:
    with pytest.raises(UserError, match="are not two languages"):
        corpora(DataSettings(corpus={languages: ("a", "b")}))


def test_three_files_of_a_corpus_are_refused() -> None:
    with pytest.raises(UserError, match="3 files"):
        corpora(DataSettings(corpus={"de-en": ("a", "b", "c")}))
