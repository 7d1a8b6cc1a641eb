"""The run folder: written and read, safe against a crash at any moment.

``Run`` is imported on first use, because it needs PyTorch; a run is translated with without it, see
``run.search_record``.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multihead.run.environment import environment, file_hashes
    from multihead.run.folder import Run

__all__ = ["Run", "environment", "file_hashes"]

_MODULES = {"Run": "folder", "environment": "environment", "file_hashes": "environment"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
