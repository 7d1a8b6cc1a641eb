"""What is written is there after a power cut."""

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    if path.is_dir() and os.name != "posix":
        return  # such systems cannot open a folder
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
