"""Records of what was translated into which files, so that no correction is overwritten.

A folder of translations has its record inside. Of translations beside their documents, whose names nobody
typed, the records are in the user's cache folder: what it does not know counts as somebody's.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from multihead.apps.documents.document_journal import Journal
from multihead.errors import UserError
from multihead.run.files import write_text
from multihead.system import disk

RECORD = ".multihead-translated.jsonl"
"""File of a folder of translations that says what was translated into it."""
State = Literal["new", "finished", "changed"]
"""Of a document's output: to be translated; translated with the same model and settings, and as it was then;
changed since, or not by this command."""
Record = Mapping[str, object]
"""``key``: a digest of everything that a translation depended on; ``sha256``: that of its file; ``document``:
that of the document."""


class FinishedDocuments(ABC):
    """Record of translations, by output."""

    @abstractmethod
    def recorded(self, output: Path) -> Record:
        """Return the record of an output, empty without one."""

    @abstractmethod
    def _record(self, output: Path, record: Record) -> None:
        """Take note of a finished output."""

    def state(self, output: Path, key: str) -> State:
        """Return what to do with a document, by its output and what its translation depends on."""
        if not output.is_file():
            return "new"
        record = self.recorded(output)
        with suppress(OSError):  # what cannot be read is not ours to replace
            if not output.stat().st_size:
                return "new"  # made by mktemp, say
            if record.get("sha256") == disk.sha256(output):
                return "finished" if record.get("key") == key else "new"
        return "changed"

    def add(self, document: Path, output: Path, key: str) -> None:
        """Take note of a finished document, unless it went into a pipe or device."""
        if output.is_file():
            content = {"key": key, "sha256": disk.sha256(output), "document": disk.sha256(document)}
            self._record(output, content)


class FinishedInFolder(FinishedDocuments):
    """Record of a folder of outputs, kept in its journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._records = {str(one.get("output")): one for one in journal.records}

    def recorded(self, output: Path) -> Record:
        """Return the last record of an output of this folder."""
        return self._records.get(self._name(output), {})

    def _record(self, output: Path, record: Record) -> None:
        self._journal.add([{"output": self._name(output), **record}])

    def _name(self, output: Path) -> str:
        return output.relative_to(self._journal.path.parent).as_posix()


class FinishedBeside(FinishedDocuments):
    """Records of outputs beside their documents, a small file each in the cache folder."""

    def recorded(self, output: Path) -> Record:
        """Return the record that the cache has; what cannot be read is none."""
        with suppress(OSError, ValueError, RecursionError):
            found = json.loads(disk.content(self._file(output)))
            if isinstance(found, dict):
                return found
        return {}

    def _record(self, output: Path, record: Record) -> None:
        # What cannot be recorded is kept by the next command, which says so.
        with suppress(OSError, UserError):
            file = self._file(output)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, json.dumps({"output": str(output.resolve()), **record}))

    def _file(self, output: Path) -> Path:
        name = hashlib.sha256(str(output.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
        return disk.cache_root("") / "translated" / f"{name}.json"


@contextmanager
def find_finished(root: Path | None) -> Iterator[FinishedDocuments]:
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


def has_changed(document: Path, output: Path) -> bool:
    """Return whether a document is known to have changed since it was translated into this file."""
    found: list[Record] = [FinishedBeside().recorded(output)]
    root = next((one for one in output.absolute().parents if (one / RECORD).is_file()), None)
    if root is not None:
        with suppress(UserError), Journal(root, "documents", root / RECORD) as journal:
            found.append(FinishedInFolder(journal).recorded(output.absolute()))
    known = {one["document"] for one in found if "document" in one}
    return bool(known) and disk.sha256(document) not in known
