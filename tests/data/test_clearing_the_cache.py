"""Listing and clearing the cache of prepared data, except what is in use."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import Captured, fail, run

from multihead.data.cache import clear, entries
from multihead.data.folders import read_locked
from multihead.data.prepare import prepare
from multihead.recipe.settings import DataSettings, TokenizerSettings

DAY = 86400
NAMES = ["0" * 32, "images-" + "1" * 32, "captions-" + "2" * 32]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Three entries of 1,009 bytes, used 2, 5 and 11 days ago, remains of a crash, a foreign folder."""
    for name, days in zip([*NAMES, f"{'3' * 32}.abc.tmp", "notes"], (2, 5, 11, 7, 97), strict=True):
        (tmp_path / "cache" / name).mkdir(parents=True)
        (tmp_path / "cache" / name / "part").write_bytes(bytes(1009))
        for path in (tmp_path / "cache" / name / "part", tmp_path / "cache" / name):
            os.utime(path, (time.time() - days * DAY,) * 2)
    return tmp_path / "cache"


def test_entries_have_their_kind_size_and_time_of_last_use(cache: Path) -> None:
    found = entries(cache)
    assert [one.kind for one in found] == ["texts", "images", "unfinished", "captions"]
    assert [round((time.time() - one.used) / DAY) for one in found] == [2, 5, 7, 11]
    assert {one.size for one in found} == {1009}
    assert not any(one.in_use for one in found)
    assert entries(cache / "nowhere") == []


def test_only_old_cache_folders_are_cleared(cache: Path) -> None:
    removed, kept = clear(cache, older_than=6 * DAY)
    assert [one.kind for one in removed] == ["unfinished", "captions"]
    assert kept == []
    assert sorted(path.name for path in cache.iterdir()) == sorted([*NAMES[:2], "notes"])
    clear(cache)
    assert [path.name for path in cache.iterdir()] == ["notes"]


def test_data_in_use_by_another_process_is_kept(cache: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from multihead.data.folders import read_locked\n"
        "read_locked(Path(sys.argv[1]), lambda folder: folder); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, cache / NAMES[0]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        removed, kept = clear(cache)
        assert [one.folder.name for one in kept] == NAMES[:1]
        assert len(removed) == 3
        holder.communicate()
    assert [one.folder.name for one in clear(cache)[0]] == NAMES[:1]


def test_reading_updates_the_time_of_use_and_locks_a_rebuilt_folder_too(cache: Path) -> None:
    folder = cache / NAMES[2]
    assert read_locked(folder, lambda path: path.name) == folder.name
    assert time.time() - folder.stat().st_mtime < 60
    assert [one.folder.name for one in clear(cache)[1]] == [folder.name]
    folder.rename(cache / "elsewhere")
    folder.mkdir()
    assert read_locked(folder, lambda path: path.name) == folder.name
    assert [one.folder.name for one in clear(cache)[1]] == [folder.name]
    assert read_locked(cache / "nowhere", lambda path: path.name) is None


def test_a_prepared_corpus_is_in_use_and_listed(tmp_path: Path, capfdbinary: Captured) -> None:
    for name in ("a.de", "a.en"):
        (tmp_path / name).write_text("".join(f"{name} {n}\n" for n in range(211)), encoding="utf-8")
    data = DataSettings(dir=str(tmp_path), source=("a.de",), target=("a.en",), cache=str(tmp_path / "cache"))
    prepared = prepare(data, TokenizerSettings(kind="words"))
    out, _ = run(capfdbinary, "data", "cache", "--cache", tmp_path / "cache")
    assert prepared.folder.name[:12] in out
    assert "in use" in out
    out, _ = run(capfdbinary, "data", "cache", "--clear", "--cache", tmp_path / "cache")
    assert "0 removed, 0.0 MB; 1 in use" in out
    assert len(prepared.train) > 100


def test_the_command_lists_and_clears(cache: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "data", "cache", "--cache", cache)
    assert "4 in total, 0.0 MB" in out
    out, _ = run(capfdbinary, "data", "cache", "--clear", "--older-than", 6, "--cache", cache)
    assert "2 removed, 0.0 MB; 0 in use" in out
    assert "Add --clear" in fail(capfdbinary, "data", "cache", "--older-than", 6, "--cache", cache)
    assert "only the cache can be cleared" in fail(capfdbinary, "data", "get", "multi30k", "--clear")
