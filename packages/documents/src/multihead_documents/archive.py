"""Zip archives of XML parts: size-bounded reading, rewriting member by member."""

import copy
import io
import posixpath
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from multihead_documents.errors import DocumentError
from multihead_documents.reading import MAX_BYTES, not_text, read_bytes

MAX_ARCHIVE_BYTES = 256 << 20
"""Size limit of an archive, images included: 256 MiB."""
MAX_UNPACKED_BYTES = 1 << 30
"""Limit of the total uncompressed size: 1 GiB."""
MAX_MEMBERS = 10_000
MAX_RATIO = 200
"""Limit of a member's compression ratio, above 1 MiB. Text compresses to a tenth, zeros to a thousandth."""

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, NotImplementedError)


class Archive:
    """An untrusted zip archive.

    Raises:
        DocumentError: it is not a zip archive, damaged, encrypted, or unpacks to more than is allowed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = read_bytes(path, MAX_ARCHIVE_BYTES)
        if not self.data.startswith(b"PK"):
            raise not_text(self.data, path) or self._error("not a zip archive, as such a document is")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(self.data))
        except _DAMAGE as error:
            raise self._error(f"a damaged archive ({error})") from None
        self._members = self._zip.infolist()
        self._check()
        try:
            damaged = self._zip.testzip()  # now, not once a translation is to be written
        except _DAMAGE as error:
            raise self._error(f"a damaged archive ({error})") from None
        if damaged:
            raise self._error(f"{damaged[:80]!r} is damaged")

    def _error(self, fact: str) -> DocumentError:
        return DocumentError(fact, place=str(self.path), remedy="Save it again in the program that made it.")

    def _check(self) -> None:
        """Check the central directory: counts, sizes, ratios, duplicates, overlaps, encryption."""
        members = self._members
        if len(members) > MAX_MEMBERS:
            raise self._error(f"an archive of {len(members):,} files")
        if len({member.filename for member in members}) < len(members):
            raise self._error("an archive with two files of one name")
        if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
            raise self._error(f"an archive that unpacks to more than {MAX_UNPACKED_BYTES >> 30} GiB")
        if sum(member.compress_size for member in members) > len(self.data):
            raise self._error("an archive whose files overlap")
        for member in members:
            if member.flag_bits & 1:
                raise DocumentError("encrypted", place=str(self.path), remedy="Save it without a password.")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self._error(f"{member.filename[:80]!r} is packed in an unusual way")
            if member.file_size > max(1 << 20, MAX_RATIO * member.compress_size):
                raise self._error(f"{member.filename[:80]!r} unpacks to more than {MAX_RATIO} times its size")

    @property
    def names(self) -> list[str]:
        """The names of its members, in order."""
        return [member.filename for member in self._members]

    def __contains__(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    def resolve(self, folder: str, target: str) -> str:
        """Return the name of the member that a reference in a folder leads to, percent-encoded or not."""
        name = posixpath.normpath(posixpath.join("/", folder, target.partition("#")[0])).lstrip("/")
        return name if name in self else unquote(name)

    def read(self, name: str, largest: int = MAX_BYTES) -> bytes:
        """Return a member's content.

        Raises:
            DocumentError: it is missing, damaged, or larger than ``largest``.
        """
        if name not in self:
            raise self._error(f"an archive without {name}")
        if self._zip.getinfo(name).file_size > largest:
            raise self._error(f"{name[:80]!r} has more than {largest:,} bytes")
        try:
            return self._zip.read(name)  # never more than its entry says
        except _DAMAGE as error:
            raise self._error(f"{name[:80]!r} is damaged ({error})") from None

    def rewritten(self, changes: Mapping[str, bytes]) -> bytes:
        """Return the archive with some members replaced, and new ones at its end.

        Order, dates and compression methods are kept.
        """
        if not changes:
            return self.data
        result = io.BytesIO()
        with zipfile.ZipFile(result, "w") as target:
            target.comment = self._zip.comment
            for member in self._members:
                data = changes.get(member.filename)
                if data is None:
                    data = self.read(member.filename, MAX_UNPACKED_BYTES)
                entry = copy.copy(member)
                entry.extra = _without_sizes(member.extra)
                target.writestr(entry, data, member.compress_type)
                entry.external_attr = member.external_attr  # zero would have become a mode
            for name in [name for name in changes if name not in self]:
                target.writestr(zipfile.ZipInfo(name), changes[name], zipfile.ZIP_DEFLATED)
        return result.getvalue()


def _without_sizes(extra: bytes) -> bytes:
    """Return extra fields without zip64 sizes, which the writer adds where they are needed."""
    body = b""
    while len(extra) >= 4:
        end = 4 + int.from_bytes(extra[2:4], "little")
        body += extra[:end] if extra[:2] != b"\x01\x00" else b""
        extra = extra[end:]
    return body
