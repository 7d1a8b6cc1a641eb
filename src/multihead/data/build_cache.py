"""What is made of a corpus: kept in the cache under a hash of all it depends on, and found again."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from multihead.data.folders import built_whole, in_use
from multihead.errors import UserError

T = TypeVar("T")


def found_or_built(
    root: Path,
    basis: Mapping[str, Any],
    *,
    prefix: str = "",
    summary_file: str,
    build: Callable[[Path], Mapping[str, Any]],
    find: Callable[[Path, Any, str], T],
) -> T:
    """Return what an earlier call has built and kept, or build it now.

    Args:
        root: the cache; its folder there is called after a hash of the basis.
        basis: all that the result depends on, as JSON.
        prefix: how the folder's name begins, so that kinds can be told apart.
        summary_file: file of the folder that is written last: what ``build`` returned.
        build: fills a folder; returns the rest of what is to be kept, as JSON.
        find: opens a folder, given its summary and the hash of its basis. Whatever a folder that is not whole
            makes it raise (OSError, ValueError, KeyError, TypeError, UserError) means that it is built anew.

    Raises:
        UserError: see ``build``; the cache cannot be written.
    """
    key = hashlib.sha256(json.dumps(basis, sort_keys=True).encode()).hexdigest()
    folder = root / f"{prefix}{key[:32]}"

    def found_in(where: Path) -> T | None:
        try:
            summary = json.loads((where / summary_file).read_text(encoding="utf-8"))
            return find(where, summary, key) if summary["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError, UserError):
            return None

    while (found := in_use(folder, found_in)) is None:
        try:
            with built_whole(folder, usable=lambda where: found_in(where) is not None) as building:
                summary = {"key": key, "basis": basis, **build(building)}
                text = json.dumps(summary, indent=2)
                (building / summary_file).write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            fact = f"cannot be written ({error.strerror or error})"
            remedy = "Make room, or name another folder: data.cache."
            raise UserError(fact, place=str(root), remedy=remedy) from error
    return found
