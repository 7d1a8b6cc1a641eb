"""Files that grow by one entry an event: metrics.jsonl (a JSON line) and samples.txt (a block of text).

Each entry is on the disk before the next one begins, so a kill or a power cut can tear the last one only.
Readers skip a torn last line, for a training may be writing it; the next writer removes it and says so. A
line of metrics.jsonl ends with the CRC-32 of the text before it, so that any other damage is reported
with its line number, and stays.
"""

import errno
import io
import json
import logging
import math
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from multihead.errors import UserError
from multihead.run import files
from multihead.system import disk
from multihead.system.safe_parsing import parse_json
from multihead.system.terminal import escape_unprintable

HEADING = re.compile(r"# step ([0-9]{1,15})")
"""Begins a block of samples; the lines of the block are indented, so that no sample looks like one."""
CRC = "crc32"
SUM = re.compile(rf'(?:, )?"{CRC}": "[0-9a-f]{{8}}"\}}\Z')
"""End of a line of metrics.jsonl."""
NUMBERS = frozenset(
    (
        *("loss", "nll", "accuracy", "perplexity", "bleu", "chrf", "f1", "exact", "wer", "cer"),
        *("rate", "norm", "epoch", "seconds", "eta_seconds", "tokens", "tokens_per_second"),
    )
)
"""Keys whose value is a number in every event that has them."""
MOST = 2**53
"""Larger whole numbers are not exact as floating-point numbers, and no training counts that far."""

MAX_BYTES = 1 << 26
"""Size limit of a file: a training of a million updates writes 10 MB."""
MAX_LINE = 1 << 20
MAX_FAULTS = 50
"""Damaged lines that are reported one by one."""

LOG = logging.getLogger(__name__)


class JournalLine(NamedTuple):
    """A line of metrics.jsonl: its text, its event (without the checksum), or what is wrong with it."""

    text: str
    event: dict[str, Any] | None
    fault: str


def append(path: Path, text: str) -> None:
    """Add whole lines to a file, all of them or none. Raises ``UserError`` if the disk refuses."""
    with files.report_disk_errors(path), path.open("a+b", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        try:
            _write_all(file, _line_end(file) + text.encode())
            os.fsync(file.fileno())
        except OSError:
            file.truncate(before)
            raise


def _line_end(file: io.FileIO) -> bytes:
    """Return the line break that a torn last line lacks, b"" otherwise."""
    if file.tell() == 0:
        return b""
    file.seek(-1, os.SEEK_END)
    return b"" if file.read(1) == b"\n" else b"\n"


def _write_all(file: io.FileIO, content: bytes) -> None:
    while content:
        content = content[file.write(content) :]


def to_line(event: Mapping[str, Any]) -> str:
    """Return an event as a JSON line with its checksum; infinity and NaN, which JSON lacks, become null."""
    return _sum(json.dumps(_finite(event), ensure_ascii=False)) + "\n"


def _sum(text: str) -> str:
    comma = "" if text == "{}" else ", "
    return f'{text[:-1]}{comma}"{CRC}": "{crc32(text.encode("utf-8", "surrogatepass")):08x}"}}'


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def events(path: Path, *, summed: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the events of a file in order. A damaged line is skipped, with one warning a process.

    Args:
        path: a metrics.jsonl.
        summed: whether each line must have a checksum. In any case each does that follows one with a
            checksum.
    """
    faults = 0
    for number, line in enumerate(lines(path, summed=summed), start=1):
        if line.event is not None:
            yield line.event
            continue
        faults += 1
        if faults <= MAX_FAULTS:
            excerpt = escape_unprintable(line.text[:60])
            _warn(f"{path}:{number}: {line.fault}; this line is left out: {excerpt}")
    if faults > MAX_FAULTS:
        _warn(f"{path}: {faults - MAX_FAULTS:,} more damaged lines are left out")


@lru_cache(1024)
def _warn(message: str) -> None:
    LOG.warning("%s", message)


def lines(path: Path, *, summed: bool = False) -> Iterator[JournalLine]:
    """Yield the whole lines of a metrics.jsonl, sound or not; see :func:`events`."""
    for text in _lines(path):
        match = SUM.search(text)
        summed = summed or match is not None
        yield _line(text, text[: match.start()] + "}" if match else None, summed)


def _line(text: str, content: str | None, summed: bool) -> JournalLine:
    """Return a line; ``content`` is its text without the checksum, None if it has none."""
    if len(text) > MAX_LINE:
        return JournalLine(text, None, f"more than {MAX_LINE:,} characters")
    try:
        text.encode()
        event = parse_json(text if content is None else content)
    except ValueError:
        return JournalLine(text, None, "cut or altered (not JSON)")
    if content is None and summed:
        return JournalLine(text, None, "altered (it has no checksum)")
    if content is not None and _sum(content) != text:
        return JournalLine(text, None, "altered (its checksum does not match)")
    if not isinstance(event, dict) or not _sound(event):
        return JournalLine(text, None, "not an event of a training")
    return JournalLine(text, event, "")


def _sound(event: Mapping[str, Any]) -> bool:
    """Return whether an event, which anybody may have written, has the numbers that readers rely on."""
    kind = event.get("event")
    has_step = kind in ("update", "validation", "end")
    step = event.get("step", None if has_step else 0)
    if type(step) is not int or not 0 <= step < MOST:
        return False
    if kind == "end" and not (
        isinstance(event.get("weights"), str) and isinstance(event.get("metrics"), dict)
    ):
        return False
    numbers = [value for key, value in event.items() if key in NUMBERS and value is not None]
    return all(type(value) is float or (type(value) is int and abs(value) < MOST) for value in numbers)


def _raw_lines(path: Path, errors: str = "surrogateescape") -> Iterator[str]:
    """Yield the lines of a file with their line breaks; of bytes that are not UTF-8 nothing is lost.

    Raises:
        UserError: it cannot be read, or is larger than any training writes.
    """
    if not path.exists():
        return
    try:
        if disk.regular_size(path) > MAX_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        with path.open("rb") as file:
            for raw in file:
                yield raw.decode("utf-8", errors)
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})", place=str(path)) from None


def _lines(path: Path, errors: str = "surrogateescape") -> Iterator[str]:
    """Yield the whole lines of a file without their line breaks; see :func:`_raw_lines`."""
    return (line[:-1] for line in _raw_lines(path, errors) if line.endswith("\n"))


def torn(path: Path) -> str:
    """Return the last line of a file if it has no line break, "" otherwise."""
    ends = deque(_raw_lines(path), maxlen=1)
    return ends[0] if ends and not ends[0].endswith("\n") else ""


def truncate_events(path: Path, step: int, *, summed: bool = False, validated: bool = True) -> None:
    """Remove the events after a step, and a torn last line; the log says so of the latter.

    Unless ``validated``, the validation of that step is removed too, and all that follows it.

    A damaged line stays if the line before it stays: it is reported, and may be mended by hand.
    """
    if torn(path):
        LOG.warning("%s: the last line, cut off when the training was, is removed", path)
    remaining: list[str] = []
    keeping = True
    for line in lines(path, summed=summed):
        if line.event is not None:
            keeping = (at := line.event.get("step", 0)) <= step
            if at == step and not validated and line.event.get("event") == "validation":
                break
        if keeping:
            remaining.append(line.text)
    _replace(path, remaining)


def to_block(step: int, text: str) -> str:
    """Return the samples of a step as a block of text."""
    lines = text.rstrip("\n").split("\n")
    return "".join([f"# step {step}\n", *(f"  {line}".rstrip() + "\n" for line in lines), "\n"])


def blocks(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (step, samples) of a file of blocks, in order."""
    step: int | None = None
    lines: list[str] = []
    for line in chain(_lines(path, "replace"), ["# step 0"]):
        heading = HEADING.fullmatch(line)
        if heading is None:
            lines.append(line.removeprefix("  "))
            continue
        if step is not None:
            yield step, "\n".join(lines).rstrip("\n")
        step, lines = int(heading[1]), []


def truncate_blocks(path: Path, step: int) -> None:
    """Remove the blocks of samples after a step, and a torn last line."""
    lines = list(_lines(path))
    headings = ((number, HEADING.fullmatch(line)) for number, line in enumerate(lines))
    late = (number for number, heading in headings if heading and int(heading[1]) > step)
    _replace(path, lines[: next(late, len(lines))])


def _replace(path: Path, lines: list[str]) -> None:
    content = "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")
    if path.exists() and path.read_bytes() != content:
        files.write(path, lambda partial: partial.write_bytes(content))


def add_sums(path: Path) -> None:
    """Add a checksum to each sound line that has none. Raises ``UserError`` if the disk refuses."""
    journal = lines(path)
    unsummed = (line.event is not None and not SUM.search(line.text) for line in lines(path))
    _replace(
        path, [_sum(line.text) if add else line.text for line, add in zip(journal, unsummed, strict=True)]
    )
