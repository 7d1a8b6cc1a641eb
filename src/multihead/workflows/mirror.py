"""A copy of a run folder at an address of fsspec (``s3://bucket/run``); another machine resumes from it."""

import logging
import posixpath
from functools import partial
from pathlib import Path

from multihead.errors import UserError
from multihead.run import Run, files
from multihead.run.lock import NAME as LOCK
from multihead.run.names import RECIPE
from multihead.system.addresses import error_message, open_address

CHECK = ".multihead-mirror"
"""Written and removed once, to find out before the training whether the address can be written to."""

LOG = logging.getLogger(__name__)


class Mirror:
    """A copy of a run folder elsewhere.

    Args:
        address: an address of fsspec, or a folder.
        folder: the run folder.

    Raises:
        UserError: fsspec, or its package for this kind of address, is not installed; the address cannot be
            written to.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.folder = address, folder
        self._files, self._root = open_address(address)
        self._copied: dict[str, tuple[int, int]] = {}
        try:
            self._files.makedirs(self._root, exist_ok=True)
            self._files.pipe_file(self._path(CHECK), b"")
            self._files.rm_file(self._path(CHECK))
        except Exception as error:
            fact = f"cannot be written to ({error_message(error)})"
            remedy = "Check the address and its access rights."
            raise UserError(fact, place=address, remedy=remedy) from error

    def _path(self, name: str) -> str:
        return posixpath.join(self._root, name)

    def fetch(self) -> bool:
        """Copy the run to its folder, if there is one at the address and none in the folder.

        Returns:
            True if it was copied.

        Raises:
            UserError: it cannot be read.
        """
        if Run.exists(self.folder):
            return False
        try:
            if not self._files.exists(self._path(RECIPE)):
                return False
            files.make_folder(self.folder)
            names = [name for name in self._names() if not _is_private(name)]
            # The recipe comes last: a folder that has one is complete.
            for name in sorted(names, key=lambda name: (name == RECIPE, name)):
                target = self.folder / name
                if not target.resolve().is_relative_to(self.folder.resolve()):
                    raise ValueError(f"{name} lies outside the folder")
                files.make_folder(target.parent)
                files.write(target, partial(self._get, name))
        except UserError:
            raise
        except Exception as error:
            fact = f"the run there cannot be read ({error_message(error)})"
            raise UserError(
                fact, place=self.address, remedy="Try again, or train without --mirror."
            ) from error
        return True

    def _get(self, name: str, target: Path) -> None:
        self._files.get_file(self._path(name), str(target))

    def _names(self) -> list[str]:
        root = self._root.rstrip("/") + "/"
        return [path.removeprefix(root) for path in self._files.find(self._root)]

    def push(self) -> None:
        """Copy what has changed, new checkpoints before old ones are removed; a failure is a warning."""
        try:
            self._push()
        except Exception as error:
            LOG.warning(
                "%s: not copied (%s); the next validation tries again", self.address, error_message(error)
            )

    def _push(self) -> None:
        here = {
            path.relative_to(self.folder).as_posix(): path
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }
        own = {name: path for name, path in here.items() if not _is_private(name)}
        for name, path in sorted(own.items(), key=lambda item: (item[0] == RECIPE, item[0])):
            status = path.stat()
            known = (status.st_size, status.st_mtime_ns)
            if self._copied.get(name) != known:
                self._files.makedirs(posixpath.dirname(self._path(name)), exist_ok=True)
                self._files.put_file(str(path), self._path(name))
                self._copied[name] = known
        for name in self._names():
            if name not in own:
                self._files.rm_file(self._path(name))
                self._copied.pop(name, None)


def _is_private(name: str) -> bool:
    """Return True for locks and unfinished files."""
    return name == LOCK or any(part.endswith(files.PARTIAL) for part in Path(name).parts)
