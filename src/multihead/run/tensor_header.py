"""Bounds on the header of a safetensors file, checked before the library reads it.

A file is eight bytes with the length of its header, the header in JSON, and the data. The library accepts a
header of 90 MB, which took it minutes.
"""

import os
from pathlib import Path
from typing import Any

from multihead.system.safe_parsing import parse_json

MAX_BYTES = 1 << 22
"""A training state of 2,000 tensors has a header of 300 kB."""
MAX_VALUES = 400_000
MAX_TENSORS = 20_000
MAX_AXES = 8


def check(path: Path) -> None:
    """Refuse a file whose header exceeds a bound, or does not describe the file's data.

    Raises:
        ValueError: it does.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(start := file.read(8), "little")
        if len(start) < 8 or length > size - 8:
            raise ValueError("truncated")
        if length > MAX_BYTES:
            raise ValueError(f"a header of {length:,} bytes, more than {MAX_BYTES:,}")
        header: Any = parse_json(file.read(length), most_bytes=MAX_BYTES, values=MAX_VALUES)
    if not isinstance(header, dict) or len(header) > MAX_TENSORS:
        raise ValueError(f"not a table of at most {MAX_TENSORS:,} tensors")
    ends = [_end(described) for name, described in header.items() if name != "__metadata__"]
    if max(ends, default=0) > size - 8 - length:
        raise ValueError("truncated")


def _end(described: Any) -> int:
    """Return the place behind a tensor's data. Raises ``ValueError``: not the description of a tensor."""
    try:
        shape, (_, end) = described["shape"], described["data_offsets"]
        if not isinstance(end, int) or len(shape) > MAX_AXES:
            raise ValueError(f"a tensor of {len(shape)} axes, more than {MAX_AXES}")
        return end
    except (TypeError, KeyError) as error:
        raise ValueError(f"not the description of a tensor ({error})") from None
