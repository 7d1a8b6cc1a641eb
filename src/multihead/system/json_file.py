"""Small JSON files of a run folder that a translator can do without."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from multihead.errors import UserError
from multihead.system import disk

Content = TypeVar("Content")


def read_json(path: Path, checked: Callable[[Any], Content], remedy: str) -> Content | None:
    """Return the checked content of a JSON file; None for a missing one.

    Args:
        path: the file's path.
        checked: makes the content of what JSON says; may raise what untrusted values raise.
        remedy: for a damaged file.

    Raises:
        UserError: the file is damaged.
    """
    try:
        return checked(json.loads(disk.content(path)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"damaged ({error})", place=str(path), remedy=remedy) from None
