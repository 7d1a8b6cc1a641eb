"""Corrections by people, kept for the next training: a TSV file with one correction per line."""

import os
import threading
import unicodedata
from pathlib import Path

from multihead.apps.serve.refusal import RefusedError
from multihead.errors import UserError

HEADING = "source\ttarget\tsource_language\ttarget_language\n"


class Corrections:
    """A file of corrections, read again by ``multihead train --src FILE --data.source_field source ...``.

    Each is appended by one write to a file opened for appending, so that neither a crash nor another process
    leaves half a line.

    Args:
        path: the file; it is created with a heading.

    Raises:
        UserError: it cannot be written, or is not such a file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._free = threading.Lock()
        try:
            with self.path.open("a+b") as file:
                file.seek(0)
                begun = file.readline()
                if not begun:
                    file.write(HEADING.encode())
                elif begun != HEADING.encode():
                    remedy = f"Name a new file; its first line will be {HEADING.split()}."
                    raise UserError("not a file of corrections", place=str(path), remedy=remedy)
                else:
                    self._mend(file.seek(-1, os.SEEK_END), file.read(1))
        except OSError as error:
            raise UserError(f"cannot be written ({error.strerror})", place=str(path)) from error

    def _mend(self, at: int, last: bytes) -> None:
        """End a line that a power failure cut, so that the next correction is a line of its own."""
        if at and last != b"\n":
            with self.path.open("ab") as file:
                file.write(b"\n")

    def add(self, text: str, correction: str, source: str, target: str) -> None:
        """Append one correction.

        Raises:
            RefusedError: a text is empty, or has a tab or more than one line.
        """
        for name, value in (("q", text), ("s", correction)):
            if not value.strip():
                raise RefusedError(400, f'"{name}" is empty')
            if any(unicodedata.category(char) == "Cc" or char in "\u2028\u2029" for char in value.strip()):
                raise RefusedError(400, f'"{name}" must be one line without tabs')
        line = "\t".join((text.strip(), correction.strip(), source, target)) + "\n"
        with self._free:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(descriptor, line.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
