"""Translation and scoring of lines.

``Translator`` is imported on first use, because it needs PyTorch; ``native_translator`` does not.
"""

import importlib
from typing import TYPE_CHECKING, Any

from multihead.tasks.translation.lines.translation import Output, PairScore, Translation

if TYPE_CHECKING:
    from multihead.tasks.translation.lines.translator import Translator

__all__ = ["Output", "PairScore", "Translation", "Translator"]


def __getattr__(name: str) -> Any:
    if name != "Translator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.translator").Translator
