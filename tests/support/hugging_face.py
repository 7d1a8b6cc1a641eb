"""Conversion of transformers models in memory."""

from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor

from multihead.apps.huggingface.foreign._folder import Folder


def as_ours(kind: ModuleType, theirs: Any) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return our settings and weights for a transformers model; ``kind`` is its converter module."""
    folder = Folder(Path("nowhere"), theirs.config.to_dict())
    keys = kind.settings(folder)
    weights = kind.weights(dict(theirs.state_dict()), folder)
    return {key.removeprefix("model."): value for key, value in keys.items()}, weights
