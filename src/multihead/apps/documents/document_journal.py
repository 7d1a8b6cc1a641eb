"""Journal of a document's translation: finished segments, so that a killed command resumes.

A file of JSON lines beside the output. Its first line binds it to the input, the model and the settings. A
killed command can tear only the last line, which is dropped.
"""

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from multihead.data.documents.library import Markup, Tag
from multihead.errors import UserError
from multihead.system import disk
from multihead.text.markup import Markup as TextMarkup

FORMAT = 1


class Journal:
    """The locked journal of an output file; ``records`` come from an earlier, interrupted translation.

    Args:
        output: the file that is written at the end.
        key: identifies input, model and settings; a journal of another key is discarded.
        path: the file of a permanent journal; None: beside the output.

    Raises:
        UserError: another process is translating into the same file; the folder cannot be written.
    """

    def __init__(self, output: Path, key: str, path: Path | None = None) -> None:
        self.path = path or output.with_name(f".{output.name[:200]}.progress")
        self.records: list[dict[str, Any]] = []
        self._head = {"format": FORMAT, "key": key}
        self._file = self._is_locked()
        lines = self._file.read().split(b"\n")
        # Text after the last line feed is a torn line.
        records = [_parse(line) for line in lines[:-1]]
        whole = records.index(None) if None in records else len(records)
        if whole and records[0] == self._head:
            self.records = [record for record in records[1:whole] if record]
            self._file.truncate(sum(len(line) + 1 for line in lines[:whole]))
            self._file.seek(0, os.SEEK_END)
        else:
            self._file.seek(0)
            self._file.truncate()
            self._write([self._head])

    def _is_locked(self) -> IO[bytes]:
        try:
            file = open(self.path, "r+b", buffering=0, opener=_create)  # noqa: SIM115
        except OSError as error:
            fact = f"cannot be written ({error.strerror or error})"
            raise UserError(fact, place=str(self.path), remedy="Check the folder of the output.") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            fact = "another process is translating into the same file"
            raise UserError(fact, place=str(self.path), remedy="Wait for it, or name another -o.") from None
        return file

    def add(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Append the records of finished segments and sync them to disk."""
        self._write(records)

    def _write(self, records: Sequence[Mapping[str, Any]]) -> None:
        try:
            text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
            self._file.write(text.encode("utf-8", "surrogatepass"))
            disk.sync(self.path)
        except OSError as error:
            fact = f"cannot be written ({error.strerror or error})"
            raise UserError(fact, place=str(self.path), remedy="Make room on the disk.") from None

    def remove(self) -> None:
        """Remove the journal of a finished translation."""
        with suppress(OSError):
            self.path.unlink()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _create(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o644)


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def spell(markup: Markup | TextMarkup) -> list[str | list[str]]:
    """Return markup as JSON: a tag is its id and kind."""
    return [piece if isinstance(piece, str) else [piece.id, piece.kind] for piece in markup.pieces]


def read(pieces: Sequence[Any]) -> Markup:
    """Return the markup from the JSON of :func:`spell`."""
    return Markup.of(*(piece if isinstance(piece, str) else Tag(piece[0], piece[1]) for piece in pieces))
