"""Records of what was translated into which files, so that no correction is overwritten.

A folder of translations has its record inside. Of translations beside their documents, whose names nobody
typed, the records are in the user's cache folder: what it does not know counts as somebody's.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from multihead import disk
from multihead.errors import UserError
from multihead.run.files import write_text
from multihead.workflows.document_journal import Journal

RECORD = ".multihead-translated.jsonl"
"""File of a folder of translations that says what was translated into it."""
State = Literal["new", "finished", "changed"]
"""Of a document's output: to be translated; translated with the same model and settings, and as it was then;
changed since, or not by this command."""
Entry = tuple[object, object]
"""A digest of everything that a translation depended on, and the SHA-256 of its file."""


class Finished(ABC):
    """Record of translations, by output."""

    @abstractmethod
    def _recorded(self, output: Path) -> Entry:
        """Return the entry of an output; (None, None) without one."""

    @abstractmethod
    def _record(self, output: Path, key: str, content: str) -> None:
        """Take note of a finished output."""

    def state(self, output: Path, key: str) -> State:
        """Return what to do with a document, by its output and what its translation depends on."""
        if not output.is_file():
            return "new"
        before, content = self._recorded(output)
        with suppress(OSError):  # what cannot be read is not ours to replace
            if not output.stat().st_size:
                return "new"  # made by mktemp, say
            if content == disk.sha256(output):
                return "finished" if before == key else "new"
        return "changed"

    def add(self, output: Path, key: str) -> None:
        """Take note of a finished document."""
        self._record(output, key, disk.sha256(output))


class FinishedInFolder(Finished):
    """Record of a folder of outputs, kept in its journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._records = {
            str(one.get("output")): (one.get("key"), one.get("sha256")) for one in journal.records
        }

    def _recorded(self, output: Path) -> Entry:
        return self._records.get(self._name(output), (None, None))

    def _record(self, output: Path, key: str, content: str) -> None:
        self._journal.add([{"output": self._name(output), "key": key, "sha256": content}])

    def _name(self, output: Path) -> str:
        return output.relative_to(self._journal.path.parent).as_posix()


class FinishedBeside(Finished):
    """Records of outputs beside their documents, a small file each in the cache folder."""

    def _recorded(self, output: Path) -> Entry:
        with suppress(OSError, ValueError, RecursionError):
            found = json.loads(disk.content(self._file(output)))
            if isinstance(found, dict):
                return found.get("key"), found.get("sha256")
        return None, None

    def _record(self, output: Path, key: str, content: str) -> None:
        # What cannot be recorded is kept by the next command, which says so.
        with suppress(OSError, UserError):
            file = self._file(output)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, json.dumps({"output": str(output.resolve()), "key": key, "sha256": content}))

    def _file(self, output: Path) -> Path:
        name = hashlib.sha256(str(output.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
        return disk.cache_root("") / "translated" / f"{name}.json"


@contextmanager
def finished(root: Path | None) -> Iterator[Finished]:
    """Yield what was translated into a folder of outputs, which is made; None: beside the documents.

    Raises:
        UserError: another command is translating into the folder; it cannot be written.
    """
    if root is None:
        yield FinishedBeside()
        return
    try:
        root.mkdir(exist_ok=True)
    except OSError as error:
        fact = f"cannot be made ({error.strerror or error})"
        raise UserError(fact, place=str(root), remedy="Name another folder.") from None
    with Journal(root, "documents", root / RECORD) as journal:
        yield FinishedInFolder(journal)
