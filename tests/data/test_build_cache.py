"""What is made once and kept: found again, built anew where it is not whole."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multihead.data.build_cache import found_or_built
from multihead.errors import UserError

BASIS = {"version": 1, "files": ["abc"]}


def kept(root: Path, built: list[int], basis: dict[str, Any] = BASIS) -> str:
    def build(folder: Path) -> dict[str, Any]:
        built.append(1)
        (folder / "words").write_text("seven")
        return {"length": 5}

    def find(folder: Path, summary: Any, key: str) -> str:
        words = (folder / "words").read_text()
        if len(words) != summary["length"]:
            raise ValueError("not whole")
        return words

    return found_or_built(root, basis, prefix="words-", summary_file="s.json", build=build, find=find)


def test_it_is_built_once_for_what_it_depends_on(tmp_path: Path) -> None:
    built: list[int] = []
    assert [kept(tmp_path, built), kept(tmp_path, built)] == ["seven", "seven"]
    assert len(built) == 1
    kept(tmp_path, built, {**BASIS, "version": 2})
    assert len(built) == 2
    for folder in tmp_path.iterdir():
        summary = json.loads((folder / "s.json").read_text())
        assert set(summary) == {"key", "basis", "length"}
        assert folder.name == f"words-{summary['key'][:32]}"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "words").write_text("eleven"),
        lambda folder: (folder / "words").unlink(),
        lambda folder: (folder / "s.json").write_text("[]"),
        lambda folder: (folder / "s.json").write_text('{"key": "another"}'),
        lambda folder: (folder / "s.json").write_bytes(b"\xff"),
    ],
)
def test_what_is_not_whole_is_built_anew(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    built: list[int] = []
    kept(tmp_path, built)
    (folder,) = tmp_path.iterdir()
    spoil(folder)
    assert kept(tmp_path, built) == "seven"
    assert len(built) == 2


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(UserError, match="cannot be written") as caught:
        kept(tmp_path / "cache", [])
    assert caught.value.place == str(tmp_path / "cache")
