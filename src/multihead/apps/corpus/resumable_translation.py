"""Resumable translation of many lines in blocks, which are stored one by one."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from multihead.errors import UserError
from multihead.run import files
from multihead.system import disk
from multihead.system.progress import OnProgress

BLOCK = 1024
"""Lines of a block."""
MOST = 1 << 28
"""Bytes of a stored block; a larger one is translated again."""
SETTINGS = "settings.json"
NO_TEXT = str.maketrans("\n\0", "  ")
"""Characters that a barely trained model may write and that a line of a text file cannot hold."""

Translate = Callable[[Sequence[str], int], Sequence[str]]
"""(lines, number of the first line, from 0) -> one output a line."""


def summarise(folder: Path, pairs: int, dropped: Mapping[str, int]) -> str:
    """Return a line with the number of pairs in a folder, and of lines without a pair, by reason."""
    gone = ", ".join(f"{count:,} {reason}" for reason, count in dropped.items() if count)
    return f"{folder}: {pairs:,} pairs" + (f" (left out: {gone})" if gone else "")


class TranslatedBlocks:
    """A folder of translated blocks.

    Args:
        folder: created if missing.
        basis: everything that the outputs depend on, as JSON.

    Raises:
        UserError: the folder was begun with another basis.
    """

    def __init__(self, folder: Path, basis: Mapping[str, Any]) -> None:
        self.folder = folder
        files.make_folder(folder)
        files.remove_temporary_folders(folder)
        text = json.dumps({"block": BLOCK, **basis}, sort_keys=True, indent=1) + "\n"
        place = folder / SETTINGS
        if place.exists() and disk.content(place).decode("utf-8", "replace") != text:
            fact = "this translation was begun from other text, another model or other settings"
            raise UserError(fact, place=str(folder), remedy="Name another folder, or remove this one.")
        files.write_text(place, text)

    def translated(
        self,
        lines: Iterable[str],
        translate: Translate,
        *,
        stage: str,
        total: int | None,
        progress: OnProgress,
    ) -> Iterator[tuple[str, str]]:
        """Yield each line with its output; stored blocks are not translated again.

        A block holds a hash of its lines, so that a damaged or foreign one is translated again.
        """
        rest = iter(lines)
        done = 0
        for number in range(10**9):
            block = list(islice(rest, BLOCK))
            if not block:
                return
            progress(stage, done, total)
            yield from zip(block, self._block(number, block, translate), strict=True)
            done += len(block)
            progress(stage, done, total)

    def _block(self, number: int, lines: Sequence[str], translate: Translate) -> Sequence[str]:
        path = self.folder / f"{number:06d}.json"
        key = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        try:
            stored = json.loads(disk.content(path, MOST))
            if stored["lines"] == key and len(stored["outputs"]) == len(lines):
                return list(map(str, stored["outputs"]))
        except (OSError, ValueError, KeyError, TypeError):
            pass  # not there yet, or damaged
        outputs = [text.translate(NO_TEXT) for text in translate(lines, number * BLOCK)]
        assert len(outputs) == len(lines)
        files.write_text(path, json.dumps({"lines": key, "outputs": outputs}) + "\n")
        return outputs
