"""The training that a file of tensors comes from, written into its header."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multihead.recipe import Recipe, decisive
from multihead.recipe.settings import Settings


@dataclass(frozen=True)
class Origin:
    """The run and the tokenizers that a checkpoint belongs to; another run's checkpoint has another origin.

    Attributes:
        run: :func:`identity` of the run; "" for runs of version 0.1.0, which have none.
        tokenizers: fingerprints of the run's tokenizers.
    """

    run: str = ""
    tokenizers: tuple[str, ...] = ()


def identity(recipe: Recipe[Settings], tokenizers: Sequence[str], data: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything that decides a training's result.

    It is not random, so that a repeated training writes the same bytes. Two runs that share it have the
    same settings, vocabulary, data and beginning, and may exchange their checkpoints.

    Args:
        recipe: all settings.
        tokenizers: fingerprints.
        data: environment.json's section of this name.
    """
    content = {
        "settings": decisive(recipe),
        "tokenizers": list(tokenizers),
        "data": data.get("fingerprint"),
        "files": [file["sha256"] for file in data.get("files", [])],
        "init": data.get("init"),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def fingerprint(tokenizer: str) -> str:
    """Return the SHA-256 of the canonical content of a tokenizer.json: sorted keys, no white space.

    Taken from the file's text and not from the loaded tokenizer, because another version of the tokenizers
    library may write the same tokenizer with other keys.

    Raises:
        ValueError: not JSON.
    """
    content = json.dumps(json.loads(tokenizer), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
