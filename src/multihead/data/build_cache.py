"""Content-addressed cache: derived data stored under a hash of its inputs."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from multihead.data.folders import atomic_folder, read_locked
from multihead.errors import UserError

T = TypeVar("T")


def cached_build(
    root: Path,
    inputs: Mapping[str, Any],
    *,
    prefix: str = "",
    summary_file: str,
    build: Callable[[Path], Mapping[str, Any]],
    load: Callable[[Path, Any, str], T],
) -> T:
    """Load derived data from the cache; build it first if it is missing or incomplete.

    Args:
        root: the cache folder; the data goes into a subfolder named by a hash of the inputs.
        inputs: everything that the result depends on, as JSON.
        prefix: prefix of the subfolder's name, which tells kinds of data apart.
        summary_file: file of the subfolder, written last, with what ``build`` returned.
        build: fills a folder, and returns a JSON summary.
        load: opens a folder, given its summary and the hash of its inputs. If it raises OSError, ValueError,
            KeyError, TypeError or UserError, the folder counts as incomplete and is built again.

    Raises:
        UserError: raised by ``build``, or the cache cannot be written.
    """
    key = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    folder = root / f"{prefix}{key[:32]}"

    def load_from(path: Path) -> T | None:
        try:
            summary = json.loads((path / summary_file).read_text(encoding="utf-8"))
            return load(path, summary, key) if summary["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError, UserError):
            return None

    while (found := read_locked(folder, load_from)) is None:
        try:
            with atomic_folder(folder, usable=lambda path: load_from(path) is not None) as building:
                summary = {"key": key, "basis": inputs, **build(building)}
                text = json.dumps(summary, indent=2)
                (building / summary_file).write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            fact = f"cannot be written ({error.strerror or error})"
            remedy = "Free some space, or set another folder with data.cache."
            raise UserError(fact, place=str(root), remedy=remedy) from error
    return found
