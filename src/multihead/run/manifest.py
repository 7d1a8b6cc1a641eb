"""manifest.json: size and SHA-256 of the files of a run folder that stay as they were written.

Covered are the files that decide what a run is: recipe.toml, environment.json, model.json and
tokenizer*.json, and of a finished translator casing.json, confidence.json and lexicon.json.
Each is compared with the manifest whenever it is read. Not covered, each for its own reason:

- model.safetensors and checkpoints/*.safetensors are replaced often, under the same names, and carry their
  digest in their own header (``run.seal``), together with the run that they belong to;
- metrics.jsonl grows by a line an event, and each line ends with a checksum of its own (``run.journal``);
- samples.txt grows too, and nothing is computed from it; curves.svg and report.html are drawn from
  metrics.jsonl anew.

A covered file is replaced in three steps, each atomic: the manifest accepts both contents; the file is
replaced; the manifest accepts the new one only. So after a crash between any two of them the folder is
valid.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from multihead.errors import UserError
from multihead.run import files
from multihead.system import disk
from multihead.system.safe_parsing import parse_json

NAME = "manifest.json"
FORMAT = 1

UPDATE = "Update multihead."
REWRITE = (
    "Copy the run folder again as a whole; if it was changed on purpose, run `multihead verify RUN --write`."
)


@dataclass(frozen=True)
class ManifestEntry:
    """Size in bytes and SHA-256 (64 hexadecimal digits) of a file."""

    size: int
    sha256: str

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Return the entry of a file with this content."""
        return cls(len(content), hashlib.sha256(content).hexdigest())


@dataclass(frozen=True)
class Manifest:
    """Content of a manifest.json.

    Attributes:
        tokenizers: fingerprints of the tokenizers of source and target (``run.origin``).
        files: the covered files, by name.
        pending: files that are about to be replaced, with their new content.
    """

    tokenizers: tuple[str, ...] = ()
    files: Mapping[str, ManifestEntry] = field(default_factory=dict)
    pending: Mapping[str, ManifestEntry] = field(default_factory=dict)

    @classmethod
    def of(cls, contents: Mapping[str, str], tokenizers: Sequence[str]) -> Self:
        """Return the manifest of a folder whose covered files have these contents."""
        return cls(
            tuple(tokenizers), {name: ManifestEntry.of(text.encode()) for name, text in contents.items()}
        )

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Return the manifest of a folder, None if there is none.

        Raises:
            UserError: it is damaged, or made by a newer version.
        """
        path = folder / NAME
        try:
            content = parse_json(disk.content(path))
            checksum = content.pop("sha256")
            if isinstance(content["format"], int) and content["format"] > FORMAT:
                raise UserError("made by a newer multihead", place=str(path), remedy=UPDATE)
            if checksum != _digest(content):
                raise ValueError("its SHA-256 is not the one that it was written with")
            entries = (
                {name: ManifestEntry(**entry) for name, entry in content[key].items()} for key in _ENTRIES
            )
            return cls(tuple(content["tokenizers"]), *entries)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"damaged ({error})", place=str(path), remedy=REWRITE) from None

    def save(self, folder: Path) -> None:
        """Write it to a folder, whole or not at all. Raises ``UserError`` if the disk refuses."""
        entries = {key: {name: vars(e) for name, e in getattr(self, key).items()} for key in _ENTRIES}
        content: dict[str, Any] = {"format": FORMAT, "tokenizers": list(self.tokenizers), **entries}
        text = json.dumps({**content, "sha256": _digest(content)}, indent=2)
        files.write_text(folder / NAME, f"{text}\n")

    def fault(self, folder: Path, name: str) -> str:
        """Return why a covered file is not as it was written, e.g. "missing"; "" if it is.

        A file that the manifest does not cover is "not in manifest.json".
        """
        accepted = [entries[name] for entries in (self.files, self.pending) if name in entries]
        if not accepted:
            return f"not in {NAME}"
        path = folder / name
        try:
            size = disk.regular_size(path)
            if all(entry.size != size for entry in accepted):
                return f"{size:,} bytes, not {accepted[-1].size:,}"
            actual = ManifestEntry(size, disk.sha256(path))
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            return f"cannot be read ({error.strerror or error})"
        return "" if actual in accepted else "altered (its SHA-256 is not the one that it was written with)"

    def replace(self, folder: Path, name: str, text: str) -> None:
        """Replace a covered file of a folder; see the head of this module for the order.

        Raises:
            UserError: the disk refuses; the old file or the new one is there, and the manifest accepts it.
        """
        entry = ManifestEntry.of(text.encode())
        dataclasses.replace(self, pending={**self.pending, name: entry}).save(folder)
        files.write_text(folder / name, text)
        dataclasses.replace(self, files={**self.files, name: entry}, pending={}).save(folder)

    def settle(self, folder: Path) -> None:
        """Finish what a crash has left pending: accept of each file what is there."""
        if self.pending:
            new = {
                name: entry
                for name, entry in self.pending.items()
                if not dataclasses.replace(self, files={}).fault(folder, name)
            }
            dataclasses.replace(self, files={**self.files, **new}, pending={}).save(folder)


_ENTRIES = ("files", "pending")


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def check_listed(folder: Path, names: Sequence[str]) -> None:
    """Refuse those of some files that a manifest lists and that are not as they were written.

    Raises:
        UserError: a file is altered, truncated or missing; the manifest is damaged.
    """
    manifest = Manifest.load(folder)
    for name in names:
        if manifest and name in {**manifest.files, **manifest.pending}:
            check(folder, name)


def check(folder: Path, name: str) -> None:
    """Refuse a covered file that is not as it was written. Without a manifest nothing is refused.

    Raises:
        UserError: the file is altered, truncated or missing; the manifest is damaged.
    """
    fault = _fault(folder, name) and _fault(folder, name)  # twice: a training may be replacing it right now
    if fault:
        raise UserError(fault, place=str(folder / name), remedy=REWRITE)


def _fault(folder: Path, name: str) -> str:
    manifest = Manifest.load(folder)
    return manifest.fault(folder, name) if manifest else ""
