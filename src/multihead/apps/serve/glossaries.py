"""Glossaries of a server: from its command line, and made by clients through DeepL's API."""

import csv
import io
import json
import threading
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from multihead.apps.serve.refusal import RefusedError
from multihead.errors import UserError
from multihead.run import files
from multihead.system import disk
from multihead.text.languages import primary
from multihead.text.terms import Glossary, Term

MOST = 1_000
"""Number of glossaries that clients may make."""
MOST_ENTRIES = 10_000


@dataclass(frozen=True)
class Made:
    """A glossary that a client has made.

    Attributes:
        id: a random identifier.
        name: given by the client.
        source: source language.
        target: target language.
        owner: name of the client's key; "" without keys.
        created: time in ISO 8601.
        entries: pairs of source and target term.
    """

    id: str
    name: str
    source: str
    target: str
    owner: str
    created: str
    entries: tuple[tuple[str, str], ...] = field(repr=False)

    @cached_property
    def glossary(self) -> Glossary:
        """The terms. Raises ``UserError`` for contradictions."""
        return Glossary(
            [
                Term(source, target, (source,), (target,), "smart", "", f"entry {number}")
                for number, (source, target) in enumerate(self.entries, start=1)
            ]
        )


class Glossaries:
    """All glossaries of a server.

    Args:
        named: glossaries of the command line, by name.
        folder: stores clients' glossaries; None: they are lost when the server ends.

    Raises:
        UserError: a damaged file in the folder.
    """

    def __init__(self, named: dict[str, Glossary] | None = None, folder: Path | None = None) -> None:
        self.named, self._folder = named or {}, folder
        self._made: dict[str, Made] = {}
        self._free = threading.Lock()
        if folder is not None:
            with files.report_disk_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob("*.json")):
                record = _read(path)
                self._made[record.id] = record

    def find(self, name: str, owner: str, source: str, target: str) -> Glossary:
        """Return a glossary by its name or id.

        Raises:
            RefusedError: there is none, or it is for other languages.
        """
        if name in self.named:
            return self.named[name]
        record = self.of(name, owner)
        if (primary(record.source), primary(record.target)) != (primary(source), primary(target)):
            raise RefusedError(400, f"the glossary is from {record.source} to {record.target}")
        return record.glossary

    def of(self, id: str, owner: str) -> Made:
        """Return a client's glossary. Raises ``RefusedError`` if there is none."""
        record = self._made.get(id)
        if record is None or record.owner != owner:
            raise RefusedError(404, "there is no such glossary")
        return record

    def of_owner(self, owner: str) -> list[Made]:
        """Return all glossaries of a client, the oldest first."""
        records = (record for record in self._made.values() if record.owner == owner)
        return sorted(records, key=lambda record: record.created)

    def make(
        self, name: str, source: str, target: str, entries: Iterable[tuple[str, str]], owner: str
    ) -> Made:
        """Add a glossary.

        Raises:
            RefusedError: contradictory, empty or too many terms; too many glossaries.
        """
        pairs = tuple(entries)
        if not pairs or len(pairs) > MOST_ENTRIES:
            raise RefusedError(400, f"a glossary must have 1 to {MOST_ENTRIES:,} terms")
        record = Made(str(uuid.uuid4()), name, source, target, owner, _now(), pairs)
        try:
            _ = record.glossary
        except UserError as error:
            raise RefusedError(400, str(error)) from None
        with self._free:
            if len(self._made) >= MOST:
                raise RefusedError(413, f"there are {MOST:,} glossaries; delete one")
            if self._folder is not None:
                content = json.dumps(asdict(record), ensure_ascii=False, indent=1) + "\n"
                files.write_text(self._folder / f"{record.id}.json", content)
            self._made[record.id] = record
        return record

    def delete(self, id: str, owner: str) -> None:
        """Delete a client's glossary. Raises ``RefusedError`` if there is none."""
        record = self.of(id, owner)
        with self._free:
            if self._folder is not None:
                (self._folder / f"{record.id}.json").unlink(missing_ok=True)
            self._made.pop(record.id, None)


def entries_of(text: str, format: str) -> list[tuple[str, str]]:
    """Parse the entries of a glossary, "tsv" or "csv".

    Raises:
        RefusedError: a line does not have two columns; another format.
    """
    if format == "tsv":
        rows = [line.removesuffix("\r").split("\t") for line in text.split("\n")]
    elif format == "csv":
        try:
            rows = [row[:2] for row in csv.reader(io.StringIO(text), strict=True)]
        except csv.Error as error:
            raise RefusedError(400, f"the entries are not CSV ({error})") from None
    else:
        raise RefusedError(400, '"entries_format" must be "tsv" or "csv"')
    entries = []
    for number, row in enumerate(rows, start=1):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != 2 or not all(cell.strip() for cell in row):
            raise RefusedError(400, f"entry {number} is not a source and a target term")
        entries.append((row[0].strip(), row[1].strip()))
    return entries


def as_tsv(entries: Iterable[tuple[str, str]]) -> str:
    """Return entries as DeepL does: source, tab, target."""
    return "\n".join("\t".join(pair) for pair in entries)


def _read(path: Path) -> Made:
    try:
        content = json.loads(disk.content(path))
        entries = tuple((str(source), str(target)) for source, target in content.pop("entries"))
        record = Made(**{name: str(value) for name, value in content.items()}, entries=entries)
        _ = record.glossary
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        remedy = "Remove it; its client can make it again."
        raise UserError(f"not a glossary of this server ({error})", place=str(path), remedy=remedy) from None
    return record


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
