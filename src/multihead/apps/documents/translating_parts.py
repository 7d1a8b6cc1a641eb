"""Resumable translation of a large file in parts on several machines, with the bytes of a plain run.

The input is divided into blocks of ``BLOCK`` lines. The output folder holds ``parts.json`` (the input's
checksum, its blocks, and everything that determines the translation), and each finished block's text and
checksum. A block appears complete or not at all, and one worker at a time translates it.
"""

import fcntl
import json
import logging
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from multihead.apps.documents.text_blocks import TextBlocks, find_blocks, from_json
from multihead.errors import UserError
from multihead.run import files
from multihead.system import disk
from multihead.system.part import part_of

BLOCK = 10_000
"""Lines in a block: a multiple of a plain run's batch of lines, so that the bytes agree."""
MANIFEST, FORMAT = "parts.json", 1
POLL = 1.0
"""Seconds between attempts at blocks that other workers are translating."""

Translate = Callable[[list[str], int], list[str]]
"""(lines, number of the first from 0) -> output lines."""

LOG = logging.getLogger(__name__)


class SharedTranslation:
    """The translation of one file, in a folder that several workers share.

    Args:
        folder: the output folder, created if missing.
        path: the input, a plain text file.
        encoding: its encoding.
        facts: everything that determines the translation, as JSON; equal for all workers.
        block: lines in a block.

    Raises:
        UserError: the folder holds the translation of another file, or with other settings.
    """

    def __init__(
        self, folder: Path, path: Path, encoding: str, facts: Mapping[str, Any], *, block: int = BLOCK
    ) -> None:
        self.folder, self.path, self.encoding = folder, path, encoding
        files.make_folder(folder)
        with _claim(folder / ".parts.lock", wait=True):
            self.blocks = self._manifest({**facts, "encoding": encoding}, block)

    # --- the manifest ---------------------------------------------------------------------------------

    def _manifest(self, facts: Mapping[str, Any], block: int) -> TextBlocks:
        place = self.folder / MANIFEST
        if not place.exists():
            if any(self.folder.glob("*.txt")):
                fact, remedy = f"no {MANIFEST} beside its blocks", "Name a new output folder."
                raise UserError(fact, place=str(self.folder), remedy=remedy)
            blocks = find_blocks(self.path, block)
            content = {"format": FORMAT, "facts": facts, "input": blocks.model_dump()}
            files.write_text(place, json.dumps(content) + "\n")
            return blocks
        blocks = self._known(place, facts)
        with files.report_disk_errors(self.path):
            size = disk.regular_size(self.path)
        if size != blocks.bytes:
            fact = f"the folder holds the translation of another file ({blocks.bytes:,} bytes, not {size:,})"
            raise UserError(fact, place=str(self.folder), remedy="Name a new output folder.")
        return blocks

    def _known(self, place: Path, facts: Mapping[str, Any]) -> TextBlocks:
        try:
            saved = json.loads(disk.content(place))
            before, number = dict(saved["facts"]), saved["format"]
            blocks = from_json(saved["input"], place)
        except (OSError, ValueError, KeyError, TypeError) as error:
            remedy = "Copy it again, or name a new output folder."
            raise UserError(f"damaged ({error})", place=str(place), remedy=remedy) from None
        if number != FORMAT:
            raise UserError(f"written by another version (format {number})", place=str(place))
        now = json.loads(json.dumps(facts))
        for name in {**before, **now}:
            if before.get(name) != now.get(name):
                fact = f"this translation began with another {name} ({before.get(name)}, now {now.get(name)})"
                remedy = "Give the same runs and settings everywhere, or name a new output folder."
                raise UserError(fact, place=str(self.folder), remedy=remedy)
        return blocks

    # --- blocks ---------------------------------------------------------------------------------------

    def file(self, number: int) -> Path:
        """Return the file of a block's translation."""
        return self.folder / f"block-{number:08}.txt"

    def done(self, number: int) -> bool:
        """Return whether a block's translation exists; remove a damaged one and log it."""
        path, summary = self.file(number), self.file(number).with_suffix(".json")
        if not summary.exists():
            return False
        try:
            summary_content = json.loads(disk.content(summary))
            if disk.crc32(path) == summary_content["crc32"]:
                return True
            fault = "cut or altered"
        except (OSError, ValueError, KeyError, TypeError) as error:
            fault = str(error)
        LOG.warning("%s: %s; this block is translated again", path, fault)
        files.remove(summary)
        return False

    def translate(self, number: int, translate: Translate) -> bool:
        """Translate a block unless its translation exists.

        Returns:
            False if another worker is translating it.
        """
        if self.done(number):
            return True
        with _claim(self.file(number).with_suffix(".lock"), wait=False) as mine:
            if not mine:
                return False
            if not self.done(number):
                lines = self.blocks.read(self.path, number, self.encoding)
                output = translate(lines, number * self.blocks.block)
                content = "".join(f"{line}\n" for line in output).encode()
                files.write(self.file(number), lambda partial: partial.write_bytes(content))
                summary = {"crc32": zlib.crc32(content), "bytes": len(content)}
                files.write_text(self.file(number).with_suffix(".json"), json.dumps(summary) + "\n")
        files.remove(self.file(number).with_suffix(".lock"))
        return True

    def part(self, i: int, n: int, translate: Translate, progress: Callable[[int, int], object]) -> None:
        """Translate the blocks of part ``i`` of ``n``; return when all are done, by any worker."""
        missing = list(part_of(range(len(self.blocks)), i, n))
        total = len(missing)
        while missing:
            left = [number for number in missing if not self._is_counted(number, translate, total, progress)]
            if left == missing:
                time.sleep(POLL)
            missing = left

    def _is_counted(
        self, number: int, translate: Translate, total: int, progress: Callable[[int, int], object]
    ) -> bool:
        done = self.translate(number, translate)
        if done:
            progress(number, total)
        return done

    def join(self) -> Iterator[bytes]:
        """Yield the translation, chunk by chunk.

        Raises:
            UserError: blocks are missing or damaged.
        """
        missing = [number for number in range(len(self.blocks)) if not self.done(number)]
        if missing:
            named = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
            fact = f"{len(missing):,} of {len(self.blocks):,} blocks are missing ({named})"
            raise UserError(fact, place=str(self.folder), remedy="Run the parts that are not complete again.")
        for number in range(len(self.blocks)):
            with self.file(number).open("rb") as file:
                yield from iter(lambda file=file: file.read(disk.CHUNK), b"")  # type: ignore[misc]


@contextmanager
def _claim(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold a lock, which the system releases when this process ends; yield False if another process holds it.

    A file system without locks lets everyone in: two workers then write the same bytes.
    """
    with files.report_disk_errors(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        mine = True
        with suppress(OSError):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                mine = False
        yield mine
    finally:
        os.close(descriptor)
