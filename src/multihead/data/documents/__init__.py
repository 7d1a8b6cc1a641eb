"""Gateway to the optional library multihead-documents (``packages/documents``); nothing else imports it.

``library`` and ``bilingual`` hold its functions, with errors as ``UserError``. Modules about documents import
them at the top, and are themselves imported by :func:`about_documents`, so that plain text needs no library.
"""

import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from multihead.errors import UserError

LIBRARY = "multihead_documents"


def is_installed() -> bool:
    """Return whether the library is installed."""
    return find_spec(LIBRARY) is not None


def not_installed(place: str) -> UserError:
    """Return the error for a document or an option without the library."""
    remedy = "pip install 'multihead[documents]', or pip install ./packages/documents in a checkout."
    return UserError("multihead-documents is not installed", place=place, remedy=remedy)


def about_documents(module: str, place: Path | str) -> Any:
    """Import a module about documents; raise ``UserError`` if the library is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != LIBRARY:
            raise
        raise not_installed(str(place)) from None


def is_document(path: Path) -> bool:
    """Return whether a file is a document by its ending; without the library, whether it is a file."""
    if not is_installed():
        return path.is_file()
    return path.suffix.lower() in importlib.import_module(LIBRARY).BY_ENDING
