"""Records of finished translations, so that no correction by hand is overwritten.

A folder of translations holds its record. Translations beside their documents, whose names nobody typed, have
records in the user's cache folder; a file without a record counts as the user's own.
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
"""The record in a folder of translations."""
State = Literal["new", "finished", "changed"]
"""State of an output: missing or out of date; translated with the same model and settings, and unchanged
since; or changed, or not written by this command."""
Record = Mapping[str, object]
"""``key``: a digest of everything that a translation depends on; ``sha256``: digest of its file;
``document``: digest of the document; ``languages``: of the document and of its translation."""


class FinishedDocuments(ABC):
    """Record of translations, by output."""

    @abstractmethod
    def read_record(self, output: Path) -> Record:
        """Return the record of an output, empty without one."""

    @abstractmethod
    def _record(self, output: Path, record: Record) -> None:
        """Record a finished output."""

    def state(self, output: Path, key: str) -> State:
        """Return the state of an output; ``key``: see ``Record``."""
        if not output.is_file():
            return "new"
        record = self.read_record(output)
        with suppress(OSError):  # an unreadable file is not ours to replace
            if not output.stat().st_size:
                return "new"  # made by mktemp, for example
            if record.get("sha256") == disk.sha256(output):
                return "finished" if record.get("key") == key else "new"
        return "changed"

    def add(self, document: Path, output: Path, key: str, languages: tuple[str, str] = ("", "")) -> None:
        """Record a finished document, unless its output is a pipe or device."""
        if output.is_file():
            digests = {"sha256": disk.sha256(output), "document": disk.sha256(document)}
            self._record(output, {"key": key, **digests, "languages": languages})


class FinishedInFolder(FinishedDocuments):
    """Record of a folder of outputs, in its journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._records = {str(record.get("output")): record for record in journal.records}

    def read_record(self, output: Path) -> Record:
        """Return the last record of an output of this folder."""
        return self._records.get(self._name(output), {})

    def _record(self, output: Path, record: Record) -> None:
        self._journal.add([{"output": self._name(output), **record}])

    def _name(self, output: Path) -> str:
        return output.relative_to(self._journal.path.parent).as_posix()


class FinishedBeside(FinishedDocuments):
    """Records of outputs beside their documents, one small file each in the cache folder."""

    def read_record(self, output: Path) -> Record:
        """Return the record in the cache; empty if it cannot be read."""
        with suppress(OSError, ValueError, RecursionError):
            record = json.loads(disk.content(self._file(output)))
            if isinstance(record, dict):
                return record
        return {}

    def _record(self, output: Path, record: Record) -> None:
        # An output without a record is kept by the next command, which says so.
        with suppress(OSError, UserError):
            file = self._file(output)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, json.dumps({"output": str(output.resolve()), **record}))

    def _file(self, output: Path) -> Path:
        name = hashlib.sha256(str(output.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
        return disk.cache_root("") / "translated" / f"{name}.json"


@contextmanager
def find_finished(root: Path | None) -> Iterator[FinishedDocuments]:
    """Yield the record of a folder of outputs, created if missing; None: of outputs beside the documents.

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
    digests = {record["document"] for record in _records(output) if "document" in record}
    return bool(digests) and disk.sha256(document) not in digests


def recorded_languages(output: Path) -> tuple[str | None, str | None]:
    """Return the languages that a run translated between when it wrote a file; None if unknown."""
    for record in _records(output):
        match record.get("languages"):
            case [str(source), str(target)]:
                return source or None, target or None
    return None, None


def _records(output: Path) -> Iterator[Record]:
    yield FinishedBeside().read_record(output)
    root = next((parent for parent in output.absolute().parents if (parent / RECORD).is_file()), None)
    if root is not None:
        with suppress(UserError), Journal(root, "documents", root / RECORD) as journal:
            yield FinishedInFolder(journal).read_record(output.absolute())
