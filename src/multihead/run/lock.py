"""One writer a run folder: a lock that the system releases when its holder ends, however it ends."""

import fcntl
import logging
import os
import socket
from contextlib import suppress
from pathlib import Path

from multihead.errors import UserError
from multihead.run import files

NAME = ".lock"
MOUNTS = Path("/proc/self/mountinfo")
LOCAL_LOCKS = frozenset(("cifs", "smb3", "9p", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "virtiofs"))
"""File systems that other machines may share, but whose locks they do not see."""

LOG = logging.getLogger(__name__)


class Lock:
    """The right to write in a run folder.

    On NFS the lock holds for all machines, unless it was mounted with ``nolock`` or ``local_lock``. Where a
    lock holds on one machine only, the log says so, and names the machine that did not release it.

    Raises:
        UserError: another process, or another ``Run`` of this one, is writing there.
    """

    def __init__(self, folder: Path) -> None:
        self._held = False
        with files.report_disk_errors(folder):
            self._descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._holder = self._read_holder()
            self.release()
            if isinstance(error, BlockingIOError):
                holder = f" ({self._holder})" if self._holder else ""
                fact, remedy = (
                    f"another training is writing to this run{holder}",
                    "Wait until it ends, or name another",
                )
            else:
                fact, remedy = f"cannot be locked ({error.strerror})", "Name one on a local disk, not another"
            raise UserError(fact, place=str(folder), remedy=f"{remedy} run folder.") from None
        self._held = True
        self._write_holder(folder)

    def _write_holder(self, folder: Path) -> None:
        """Write machine and process into the lock's file, for the message to others."""
        before, host = self._read_holder(), socket.gethostname()
        if (kind := local_locks(folder)) and before and f" on {host}" not in before:
            LOG.warning(
                "%s: locks on %s hold on one machine only, and %s has not released this run: make sure that "
                "it has ended.",
                folder,
                kind,
                before,
            )
        self._replace(f"process {os.getpid()} on {host}")

    def _replace(self, text: str) -> None:
        with suppress(OSError):  # a full disk: only the message to others is lost
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text.encode(), 0)

    def _read_holder(self) -> str:
        text = os.pread(self._descriptor, 100, 0).decode(errors="replace")
        return text if text.isprintable() else ""

    def release(self) -> None:
        """Release the lock. A second call does nothing."""
        if self._descriptor >= 0:
            if self._held:
                self._replace("")
            os.close(self._descriptor)
            self._descriptor = -1


def local_locks(folder: Path, mounts: str | None = None) -> str:
    """Return the file system of a folder if locks hold on one machine only, "" if they hold for all.

    Args:
        folder: which.
        mounts: content of /proc/self/mountinfo; None: this process's, "" if there is none.
    """
    if mounts is None:
        mounts = MOUNTS.read_text(errors="replace") if MOUNTS.exists() else ""
    place, mount = str(folder.resolve()), ("", "", "")
    for line in mounts.split("\n"):
        before, _, after = line.partition(" - ")
        fields, (kind, *rest) = before.split(), (after.split() or [""])
        if len(fields) > 4 and len(fields[4]) >= len(mount[0]):
            mounted = fields[4].encode().decode("unicode_escape")
            if f"{place}/".startswith(f"{mounted.rstrip('/')}/"):
                mount = fields[4], kind, ",".join([fields[5], *rest[-1:]])
    _, kind, options = mount
    local = {"nolock", "local_lock=all", "local_lock=flock"} & set(options.split(","))
    return kind if kind in LOCAL_LOCKS or (kind.startswith("nfs") and local) else ""
