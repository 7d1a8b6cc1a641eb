"""Files that grow by a piece an event: metrics.jsonl (a JSON line) and samples.txt (a block of text).

A piece is on the disk before the next one begins, so only the last can be torn, by a power cut or a kill;
readers pass over a torn one, and the next writer takes it away.
"""

import io
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from multihead import disk
from multihead.errors import UserError
from multihead.run import files

HEADING = re.compile(r"# step ([0-9]{1,15})")
"""Begins a block of samples; the lines of the block are indented, so that no sample looks like one."""
NUMBERS = frozenset(
    (
        *("loss", "nll", "accuracy", "perplexity", "bleu", "chrf", "f1"),
        *("rate", "norm", "epoch", "seconds", "eta_seconds", "tokens", "tokens_per_second"),
    )
)
"""What is a number in every event that has it."""
MOST = 2**53
"""Whole numbers beyond are none that a training counts to, nor are they exact as floating-point numbers."""


def append(path: Path, text: str) -> None:
    """Add whole lines to a file, all of them or none. Raises ``UserError`` where the disk refuses."""
    with files.disk_errors_told(path), path.open("a+b", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        try:
            _write_all(file, _line_end(file) + text.encode())
            os.fsync(file.fileno())
        except OSError:
            file.truncate(before)
            raise


def _line_end(file: io.FileIO) -> bytes:
    """Return what ends a torn last line, nothing where there is none."""
    if file.tell() == 0:
        return b""
    file.seek(-1, os.SEEK_END)
    return b"" if file.read(1) == b"\n" else b"\n"


def _write_all(file: io.FileIO, content: bytes) -> None:
    while content:
        content = content[file.write(content) :]


def to_line(event: Mapping[str, Any]) -> str:
    """Return an event as a JSON line; a number that is infinite or NaN, which JSON lacks, becomes null."""
    return json.dumps(_finite(event), ensure_ascii=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def events(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a file in order; what is torn or not an event is passed over."""
    for line in _lines(path):
        event = _event(line)
        if event is not None:
            yield event


def _event(line: str) -> dict[str, Any] | None:
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) and _sound(read) else None


def _sound(event: Mapping[str, Any]) -> bool:
    """Tell whether an event, which anybody may have written, has the numbers that readers count on."""
    kind = event.get("event")
    known = kind in ("update", "validation", "end")
    step = event.get("step", None if known else 0)
    if type(step) is not int or not 0 <= step < MOST:
        return False
    if kind == "end" and not (
        isinstance(event.get("weights"), str) and isinstance(event.get("metrics"), dict)
    ):
        return False
    numbers = [value for key, value in event.items() if key in NUMBERS and value is not None]
    return all(type(value) is float or (type(value) is int and abs(value) < MOST) for value in numbers)


def _lines(path: Path) -> list[str]:
    """Return the whole lines of a file, none if there is no file."""
    if not path.exists():
        return []
    try:
        text = disk.content(path).decode("utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})", place=str(path)) from None
    return text.split("\n")[:-1]


def truncate_events(path: Path, step: int) -> None:
    """Take away the events after a step, and a torn last line."""
    kept = [line for line in _lines(path) if (event := _event(line)) and event.get("step", 0) <= step]
    _replace(path, kept)


def to_block(step: int, text: str) -> str:
    """Return the samples of a step as a block of text."""
    lines = text.rstrip("\n").split("\n")
    return "".join([f"# step {step}\n", *(f"  {line}".rstrip() + "\n" for line in lines), "\n"])


def blocks(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (step, samples) of a file of blocks, in order."""
    step: int | None = None
    lines: list[str] = []
    for line in [*_lines(path), "# step 0"]:
        heading = HEADING.fullmatch(line)
        if heading is None:
            lines.append(line.removeprefix("  "))
            continue
        if step is not None:
            yield step, "\n".join(lines).rstrip("\n")
        step, lines = int(heading[1]), []


def truncate_blocks(path: Path, step: int) -> None:
    """Take away the blocks of samples after a step, and a torn last line."""
    lines = _lines(path)
    headings = ((number, HEADING.fullmatch(line)) for number, line in enumerate(lines))
    late = (number for number, heading in headings if heading and int(heading[1]) > step)
    _replace(path, lines[: next(late, len(lines))])


def _replace(path: Path, lines: list[str]) -> None:
    text = "".join(line + "\n" for line in lines)
    if path.exists() and path.read_bytes() != text.encode():
        files.write_text(path, text)
