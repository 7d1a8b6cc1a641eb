"""The content-addressed cache: built once, loaded afterwards, rebuilt when incomplete."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multihead.data.build_cache import cached_build
from multihead.errors import UserError

INPUTS = {"version": 1, "files": ["abc"]}


def cached(root: Path, built: list[int], inputs: dict[str, Any] = INPUTS) -> str:
    def build(folder: Path) -> dict[str, Any]:
        built.append(1)
        (folder / "words").write_text("seven")
        return {"length": 5}

    def load(folder: Path, summary: Any, key: str) -> str:
        words = (folder / "words").read_text()
        if len(words) != summary["length"]:
            raise ValueError("incomplete")
        return words

    return cached_build(root, inputs, prefix="words-", summary_file="s.json", build=build, load=load)


def test_data_is_built_once_for_the_same_inputs(tmp_path: Path) -> None:
    built: list[int] = []
    assert [cached(tmp_path, built), cached(tmp_path, built)] == ["seven", "seven"]
    assert len(built) == 1
    cached(tmp_path, built, {**INPUTS, "version": 2})
    assert len(built) == 2
    for folder in tmp_path.iterdir():
        summary = json.loads((folder / "s.json").read_text())
        assert set(summary) == {"key", "basis", "length"}
        assert folder.name == f"words-{summary['key'][:32]}"


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "words").write_text("eleven"),
        lambda folder: (folder / "words").unlink(),
        lambda folder: (folder / "s.json").write_text("[]"),
        lambda folder: (folder / "s.json").write_text('{"key": "another"}'),
        lambda folder: (folder / "s.json").write_bytes(b"\xff"),
    ],
)
def test_incomplete_data_is_built_again(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    built: list[int] = []
    cached(tmp_path, built)
    (folder,) = tmp_path.iterdir()
    damage(folder)
    assert cached(tmp_path, built) == "seven"
    assert len(built) == 2


def test_a_cache_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(UserError, match="cannot be written") as caught:
        cached(tmp_path / "cache", [])
    assert caught.value.place == str(tmp_path / "cache")
