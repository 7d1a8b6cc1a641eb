"""The token store on disk, and atomically built folders."""

import json
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.data import folders
from multihead.data.folders import atomic_folder
from multihead.data.store import BrokenStoreError, StoreWriter, TokenStore

PAIRS = [([5, 6, 65535], [7]), ([], [8, 9]), ([4], [])]


def write(folder: Path, pairs: list[tuple[list[int], list[int]]], vocab: int = 65536) -> None:
    with StoreWriter(folder, (vocab, vocab)) as writer:
        for source, target in pairs:
            writer.add(source, target)


def read(store: TokenStore) -> list[tuple[list[int], list[int]]]:
    return [(store.source(i).tolist(), store.target(i).tolist()) for i in range(len(store))]


ids = st.lists(st.integers(0, 70_000), max_size=11)


@given(st.lists(st.tuples(ids, ids), max_size=13))
def test_a_store_returns_the_pairs_written(tmp_path_factory: pytest.TempPathFactory, pairs: list) -> None:  # type: ignore[type-arg]
    folder = tmp_path_factory.mktemp("store")
    write(folder, pairs, vocab=70_001)
    store = TokenStore(folder)
    assert read(store) == pairs
    assert store.source_lengths.tolist() == [len(source) for source, _ in pairs]
    assert store.target_lengths.tolist() == [len(target) for _, target in pairs]


def test_ids_of_a_small_vocabulary_take_two_bytes_and_of_a_large_one_four(tmp_path: Path) -> None:
    with StoreWriter(tmp_path, (65536, 65537)) as writer:
        writer.add([1, 2, 3], [1, 2, 3])
    assert (tmp_path / "source.ids.bin").stat().st_size == 6
    assert (tmp_path / "target.ids.bin").stat().st_size == 12


@pytest.mark.parametrize("bad", [-1, 65536])
def test_an_id_that_does_not_fit_is_refused(tmp_path: Path, bad: int) -> None:
    with pytest.raises(OverflowError), StoreWriter(tmp_path, (8000, 8000)) as writer:
        writer.add([bad], [1])
    with pytest.raises(BrokenStoreError):
        TokenStore(tmp_path)


def test_a_store_is_memory_mapped_and_read_only(tmp_path: Path) -> None:
    write(tmp_path, PAIRS)
    with pytest.raises(ValueError, match="read-only"):
        TokenStore(tmp_path).source(0)[0] = 1


@pytest.mark.parametrize("name", [f"{s}.{w}.bin" for s in ("source", "target") for w in ("ids", "offsets")])
@pytest.mark.parametrize("damage", ["truncate", "extend", "remove"])
def test_a_damaged_store_is_detected(tmp_path: Path, name: str, damage: str) -> None:
    write(tmp_path, PAIRS)
    path = tmp_path / name
    if damage == "remove":
        path.unlink()
    else:
        os.truncate(path, path.stat().st_size + (1 if damage == "extend" else -1))
    with pytest.raises(BrokenStoreError):
        TokenStore(tmp_path)


@pytest.mark.parametrize(
    "change",
    [{"version": 0}, {"format": "another"}, {"pairs": 2}, {"dtypes": ["<u4", "<u2"]}, {"sizes": []}]
    # Objects would be addresses, which anybody may have written.
    + [{"dtypes": [odd, "<u2"]} for odd in ("|O", "<f2", "V2", [["a", "O"]], None)],
)
def test_a_foreign_header_is_detected(tmp_path: Path, change: dict[str, object]) -> None:
    write(tmp_path, PAIRS)
    header = json.loads((tmp_path / "header.json").read_text())
    (tmp_path / "header.json").write_text(json.dumps(header | change))
    with pytest.raises(BrokenStoreError):
        TokenStore(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null"])
def test_a_malformed_header_is_detected(tmp_path: Path, text: str) -> None:
    (tmp_path / "header.json").write_text(text)
    with pytest.raises(BrokenStoreError):
        TokenStore(tmp_path)


def usable(folder: Path) -> bool:
    return (folder / "done").is_file()


def build(folder: Path, text: str) -> None:
    with atomic_folder(folder, usable=usable) as building:
        (building / "done").write_text(text)


def test_a_folder_appears_only_when_complete(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "it"
    with atomic_folder(folder, usable=usable) as building:
        (building / "done").write_text("1")
        assert not folder.exists()
    assert usable(folder)
    assert [path.name for path in folder.parent.iterdir()] == ["it"]


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic_folder(tmp_path / "it", usable=usable) as building:
            (building / "done").write_text("1")
            raise OSError("disk full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert not list(tmp_path.iterdir())


def test_the_first_process_to_finish_wins(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "it", usable=usable) as building:
        (building / "done").write_text("slow")
        build(tmp_path / "it", "fast")
    assert (tmp_path / "it" / "done").read_text() == "fast"
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


def test_an_unusable_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "it" / "sub").mkdir(parents=True)
    build(tmp_path / "it", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["it"]
    assert [path.name for path in (tmp_path / "it").iterdir()] == ["done"]


def test_another_process_may_replace_the_unusable_folder_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, rename = tmp_path / "it", Path.rename
    (there / "broken").mkdir(parents=True)

    def late(self: Path, to: Path) -> Path:
        if self == there:  # between the look and the move
            rename(self, tmp_path / "taken")
            monkeypatch.setattr(Path, "rename", rename)
            build(there, "the other")
            raise FileNotFoundError(str(self))
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", late)
    build(there, "this one")
    assert usable(there)


def test_many_processes_build_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "it" / "broken").mkdir(parents=True)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.starmap(build, [(tmp_path / "it", str(i)) for i in range(40)])
    assert usable(tmp_path / "it")
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


def test_remains_of_a_killed_build_are_deleted_after_a_day(tmp_path: Path) -> None:
    old, young, other = (tmp_path / name for name in ("it.a.tmp", "it.b.tmp", "that.a.tmp"))
    for folder in (old, young, other):
        folder.mkdir()
    past = time.time() - folders.STALE_AFTER - 60
    for folder in (old, other):
        os.utime(folder, (past, past))
    build(tmp_path / "it", "1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it", "it.b.tmp", "that.a.tmp"]


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        build(tmp_path / "file" / "it", "1")


def test_lengths_fit_the_plan(tmp_path: Path) -> None:
    write(tmp_path, PAIRS)
    assert TokenStore(tmp_path).source_lengths.dtype == np.int32
