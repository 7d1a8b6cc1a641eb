"""The run folder: written and read, safe against a crash at any moment.

``Run`` is imported on first use, because it needs PyTorch; a run is translated with without it, see
``run.search_record``.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multihead.run.folder import Run

__all__ = ["Run"]


def __getattr__(name: str) -> Any:
    if name != "Run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.folder").Run
