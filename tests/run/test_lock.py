"""One writer a run folder, told in words where that cannot be."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from multihead.errors import UserError
from multihead.run import lock as lock_module
from multihead.run.lock import Lock, local_locks


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


def test_the_message_names_the_process_that_writes(tmp_path: Path) -> None:
    lock = Lock(tmp_path)
    with pytest.raises(
        UserError, match=rf"another training is writing to this run \(process {os.getpid()} on"
    ):
        Lock(tmp_path)
    lock.release()
    assert (tmp_path / ".lock").read_bytes() == b""


MOUNTS = """\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
31 22 0:44 / /home rw,relatime - nfs4 server:/home rw,vers=4.2,local_lock=none
32 22 0:45 / /scratch rw - nfs server:/scratch rw,vers=3,nolock,addr=10.0.0.1
33 22 0:46 / /old rw - nfs server:/old rw,vers=3,local_lock=flock
34 22 0:47 / /two\\040words rw - fuse.sshfs me@host: rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/runs", ""),
        ("/home/runs", ""),
        ("/scratch/runs", "nfs"),
        ("/old", "nfs"),
        ("/older", ""),
        ("/two words/runs", "fuse.sshfs"),
    ],
)
def test_a_file_system_whose_locks_are_local_is_recognised(folder: str, kind: str) -> None:
    assert local_locks(Path(folder), MOUNTS) == kind


def test_a_run_that_another_machine_has_not_released_is_reported_where_locks_are_local(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".lock").write_text("process 7 on elsewhere")
    Lock(tmp_path).release()
    assert not caplog.messages
    (tmp_path / ".lock").write_text("process 7 on elsewhere")
    monkeypatch.setattr(lock_module, "local_locks", lambda folder: "nfs")
    Lock(tmp_path).release()
    (said,) = caplog.messages
    assert "locks on nfs hold on one machine only, and process 7 on elsewhere has not released" in said
