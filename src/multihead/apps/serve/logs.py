"""One line of JSON for each request. Neither texts nor keys are ever logged."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime

Log = Callable[..., None]
"""Writes one record of named values."""


def json_log(**values: object) -> None:
    """Write a record to standard error as a line of JSON."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    record = {name: value for name, value in values.items() if value not in (None, "")}
    print(json.dumps({"time": now, **record}, ensure_ascii=False), file=sys.stderr, flush=True)


def no_log(**values: object) -> None:
    """Write nothing."""
