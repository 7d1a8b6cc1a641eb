"""Content-addressed cache: derived data stored under a hash of its inputs, with checksums."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from multihead.data import checksums
from multihead.data.folders import atomic_folder, read_locked
from multihead.errors import UserError
from multihead.system import disk
from multihead.system.safe_parsing import parse_json

T = TypeVar("T")

LOG = logging.getLogger(__name__)


def cached_build(
    root: Path,
    inputs: Mapping[str, Any],
    *,
    prefix: str = "",
    summary_file: str,
    build: Callable[[Path], Mapping[str, Any]],
    load: Callable[[Path, Any, str], T],
) -> T:
    """Load derived data from the cache; build it first if it is missing or damaged, which is logged.

    Args:
        root: the cache folder; the data goes into a subfolder named by a hash of the inputs.
        inputs: everything that the result depends on, as JSON.
        prefix: prefix of the subfolder's name, which distinguishes kinds of data.
        summary_file: file of the subfolder with the summary that ``build`` returned.
        build: fills a folder, and returns a JSON summary.
        load: opens a folder, given its summary and the hash of its inputs. If it raises any exception, the
            folder counts as damaged.

    Raises:
        UserError: raised by ``build``, or the cache cannot be written.
    """
    key = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    folder = root / f"{prefix}{key[:32]}"

    faults: list[str] = []

    def load_from(path: Path) -> T | None:
        try:
            checksums.check(path)
            summary = parse_json(disk.content(path / summary_file))
            if summary["key"] != key:
                raise ValueError(f"{summary_file} belongs to other data")
            return load(path, summary, key)
        except MemoryError:
            raise
        except Exception as error:
            faults.append(str(error) or type(error).__name__)
            return None

    while (data := read_locked(folder, load_from)) is None:
        if faults:
            LOG.warning("%s: %s; the data is prepared again", folder, faults[-1])
            faults.clear()
        with (
            report_cache_errors(root),
            atomic_folder(folder, usable=lambda path: load_from(path) is not None) as building,
        ):
            summary = {"key": key, "basis": inputs, **build(building)}
            text = json.dumps(summary, indent=2)
            (building / summary_file).write_text(f"{text}\n", encoding="utf-8")
            checksums.write(building)
    return data


@contextmanager
def report_cache_errors(root: Path) -> Iterator[None]:
    """Turn a system error inside the block into a ``UserError`` about the cache folder."""
    try:
        yield
    except OSError as error:
        fact = f"cannot be written ({error.strerror or error})"
        remedy = "Free some space, or set another folder with data.cache."
        raise UserError(fact, place=str(root), remedy=remedy) from error
