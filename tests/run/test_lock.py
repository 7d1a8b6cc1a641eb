"""One writer a run folder, told in words where that cannot be."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from multihead.errors import UserError
from multihead.run.lock import Lock


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_second_writer_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    first = Lock(tmp_path)
    with pytest.raises(UserError, match="another training is writing to this run"):
        Lock(tmp_path)
    first.release()
    Lock(tmp_path).release()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of open files here")
def test_a_file_system_without_locks_is_told_and_nothing_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    before = open_files()
    with pytest.raises(UserError, match=r"cannot be locked \(No locks available\). Name one on a local disk"):
        Lock(tmp_path)
    assert open_files() == before
