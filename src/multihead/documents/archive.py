"""A document that is a zip archive of XML parts: bounded, and rewritten member by member."""

import copy
import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from multihead.documents.reading import MOST_BYTES, not_text, read_bytes
from multihead.errors import UserError

MOST_ARCHIVE = 256 << 20
"""Bytes of an archive: 256 MiB, pictures included."""
MOST_UNPACKED = 1 << 30
"""Bytes of all its members: 1 GiB."""
MOST_MEMBERS = 10_000
LARGEST_RATIO = 200
"""Of a member's size to its packed size, from a megabyte on: text goes to a tenth, zeros to a thousandth."""

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, NotImplementedError)


class Archive:
    """A zip archive that is read from an untrusted file.

    Raises:
        UserError: it is no zip archive, damaged, encrypted, or unpacks to more than is allowed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = read_bytes(path, MOST_ARCHIVE)
        if not self.data.startswith(b"PK"):
            raise not_text(self.data, path) or self._error("not a zip archive, as such a document is")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(self.data))
        except _DAMAGE as error:
            raise self._error(f"a damaged archive ({error})") from None
        self._members = self._zip.infolist()
        self._check()

    def _error(self, fact: str) -> UserError:
        return UserError(fact, place=str(self.path), remedy="Save it again in the program that made it.")

    def _check(self) -> None:
        """Refuse what its directory says of it: too many members, too large, hidden, in one another."""
        members = self._members
        if len(members) > MOST_MEMBERS:
            raise self._error(f"an archive of {len(members):,} files")
        if len({member.filename for member in members}) < len(members):
            raise self._error("an archive with two files of one name")
        if sum(member.file_size for member in members) > MOST_UNPACKED:
            raise self._error(f"an archive that unpacks to more than {MOST_UNPACKED >> 30} GiB")
        if sum(member.compress_size for member in members) > len(self.data):
            raise self._error("an archive whose files overlap")
        for member in members:
            if member.flag_bits & 1:
                raise UserError("encrypted", place=str(self.path), remedy="Save it without a password.")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self._error(f"{member.filename[:80]!r} is packed in an unusual way")
            if member.file_size > max(1 << 20, LARGEST_RATIO * member.compress_size):
                raise self._error(
                    f"{member.filename[:80]!r} unpacks to more than {LARGEST_RATIO} times its size"
                )

    @property
    def names(self) -> list[str]:
        """The names of its members, in order."""
        return [member.filename for member in self._members]

    def read(self, name: str, largest: int = MOST_BYTES) -> bytes:
        """Return a member's content.

        Raises:
            UserError: it is missing, damaged, or larger than ``largest`` or than its entry says.
        """
        if name not in self.names:
            raise self._error(f"an archive without {name}")
        if self._zip.getinfo(name).file_size > largest:
            raise self._error(f"{name[:80]!r} has more than {largest:,} bytes")
        try:
            with self._zip.open(name) as file:
                data = file.read(largest + 1)
                if len(data) > largest or file.read(1):
                    raise self._error(f"{name[:80]!r} has more bytes than its entry says")
        except _DAMAGE as error:
            raise self._error(f"{name[:80]!r} is damaged ({error})") from None
        return data

    def rewritten(self, changes: Mapping[str, bytes]) -> bytes:
        """Return the archive with the content of some members replaced; order, times and packing stay."""
        if not changes:
            return self.data
        result = io.BytesIO()
        with zipfile.ZipFile(result, "w") as target:
            target.comment = self._zip.comment
            for member in self._members:
                data = changes.get(member.filename)
                if data is None:
                    data = self.read(member.filename, MOST_UNPACKED)
                entry = copy.copy(member)
                entry.extra = _without_sizes(member.extra)
                target.writestr(entry, data, member.compress_type)
                entry.external_attr = member.external_attr  # zero would have become a mode
        return result.getvalue()


def _without_sizes(extra: bytes) -> bytes:
    """Return extra fields without the one for 64-bit sizes, which are written anew where they are needed."""
    kept = b""
    while len(extra) >= 4:
        end = 4 + int.from_bytes(extra[2:4], "little")
        kept += extra[:end] if extra[:2] != b"\x01\x00" else b""
        extra = extra[end:]
    return kept
