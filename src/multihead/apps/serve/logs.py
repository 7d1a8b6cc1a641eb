"""One line of JSON for each request. Neither texts nor keys are ever logged."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TextIO

Log = Callable[..., None]
"""Writes one record of named values."""


def json_log(stream: TextIO | None = None) -> Log:
    """Return a function that writes a record as a line of JSON, to standard error by default."""

    def log(**values: object) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        record = {name: value for name, value in values.items() if value not in (None, "")}
        print(json.dumps({"time": now, **record}, ensure_ascii=False), file=stream or sys.stderr, flush=True)

    return log


def no_log(**values: object) -> None:
    """Write nothing."""
