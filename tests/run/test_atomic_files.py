"""Files that are there as a whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from multihead.errors import UserError
from multihead.run import files
from multihead.system import disk


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def failing(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def test_a_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    files.write_text(tmp_path / "a", "한국어\u2028\n")
    assert (tmp_path / "a").read_bytes() == "한국어\u2028\n".encode()
    assert names(tmp_path) == ["a"]


def test_a_file_has_the_permissions_that_the_user_gives_new_files(tmp_path: Path) -> None:
    def strict(partial: Path) -> None:
        partial.touch(mode=0o600)

    before = os.umask(0o027)
    try:
        files.write(tmp_path / "a", strict)
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("error", [failing(errno.ENOSPC), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    def fill(partial: Path) -> None:
        partial.write_text("half")
        raise error

    files.write_text(tmp_path / "a", "old")
    with pytest.raises((UserError, KeyboardInterrupt)):
        files.write(tmp_path / "a", fill)
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_content_is_on_the_disk_before_it_has_its_name_and_the_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    sync, replace = disk.sync, Path.replace

    def watched_sync(path: Path) -> None:
        order.append(f"sync {path.name}")
        sync(path)

    def watched_replace(old: Path, new: Path) -> Path:
        order.append("rename")
        return replace(old, new)

    monkeypatch.setattr(disk, "sync", watched_sync)
    monkeypatch.setattr(Path, "replace", watched_replace)
    files.write_text(tmp_path / "a", "text")
    assert order == ["sync a", "rename", f"sync {tmp_path.name}"]


def test_syncing_a_file_or_a_folder_flushes_exactly_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_ino))
    (tmp_path / "a").touch()
    disk.sync(tmp_path / "a")
    disk.sync(tmp_path)
    assert flushed == [(tmp_path / "a").stat().st_ino, tmp_path.stat().st_ino]


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "Make room and start the same command again: everything saved before is intact."),
        (errno.EDQUOT, "Make room"),
        (errno.EACCES, "Name a folder that you may write to."),
        (errno.EROFS, "Name a folder that you may write to."),
        (errno.EIO, ""),
    ],
)
def test_a_refusal_of_the_disk_is_told_with_place_and_remedy(number: int, remedy: str) -> None:
    with pytest.raises(UserError) as caught, files.report_disk_errors(Path("runs/a")):
        raise failing(number)
    assert str(caught.value).startswith(f"runs/a: cannot be written ({os.strerror(number)})")
    assert remedy in str(caught.value)


def test_a_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file/run: cannot be written \(Not a directory\)"):
        files.make_folder(tmp_path / "file" / "run")


def test_a_place_where_no_folder_can_be_made_is_told_beforehand_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "a" / "b"):
        with pytest.raises(UserError, match=r"cannot be written \(.*file is not a folder\). Name a folder"):
            files.check_place(path)
    for path in (tmp_path, tmp_path / "a" / "b"):
        files.check_place(path)
    assert names(tmp_path) == ["file"]


def test_what_a_killed_writer_left_is_cleared_and_the_rest_stays(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / f"a{files.PARTIAL}").mkdir()
    (tmp_path / f"a{files.PARTIAL}" / ".tmp123").touch()
    files.remove_temporary_folders(tmp_path)
    assert names(tmp_path) == ["a"]


def test_of_two_writers_of_one_file_each_writes_it_whole(tmp_path: Path) -> None:
    file = tmp_path / "a"

    def slow(partial: Path) -> None:
        partial.write_text("first")
        files.write_text(file, "second")
        assert file.read_text() == "second"

    files.write(file, slow)
    assert file.read_text() == "first"
    assert names(tmp_path) == ["a"]


def test_what_is_being_written_is_not_cleared(tmp_path: Path) -> None:
    def slow(partial: Path) -> None:
        partial.write_text("whole")
        files.remove_temporary_folders(tmp_path)

    files.write(tmp_path / "a", slow)
    assert (tmp_path / "a").read_text() == "whole"
