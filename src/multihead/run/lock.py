"""One writer a run folder: a lock that the system releases when its holder ends, however it ends."""

import fcntl
import os
from pathlib import Path

from multihead.errors import UserError
from multihead.run import files

NAME = ".lock"


class Lock:
    """The right to write in a run folder.

    Raises:
        UserError: another process, or another ``Run`` of this one, is writing there.
    """

    def __init__(self, folder: Path) -> None:
        with files.report_disk_errors(folder):
            self._descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.release()
            if isinstance(error, BlockingIOError):
                fact, remedy = (
                    "another training is writing to this run",
                    "Wait until it ends, or name another",
                )
            else:
                fact, remedy = f"cannot be locked ({error.strerror})", "Name one on a local disk, not another"
            raise UserError(fact, place=str(folder), remedy=f"{remedy} run folder.") from None

    def release(self) -> None:
        """Release the lock. A second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
