"""Models of the transformers library as ours, without a folder on a disk."""

from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor

from multihead.workflows.foreign._folder import Folder


def as_ours(kind: ModuleType, theirs: Any) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Our model's settings and weights for a model of theirs; ``kind`` is its ``workflows.foreign``."""
    folder = Folder(Path("nowhere"), theirs.config.to_dict())
    keys = kind.settings(folder)
    weights = kind.weights(dict(theirs.state_dict()), folder)
    return {key.removeprefix("model."): value for key, value in keys.items()}, weights
