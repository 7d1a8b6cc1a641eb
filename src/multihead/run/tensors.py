"""Tensors on disk: safetensors whose header holds, as JSON in one metadata key, everything else.

One key, because safetensors writes several in no fixed order: the same content would be other bytes. The
JSON is

- ``format``: version of this layout; files of version 0.1.0 have no such key, and neither a seal nor an
  origin;
- ``seal``: SHA-256 of the file (see ``run.seal``), checked whenever the file is read;
- ``run``, ``tokenizers``: the training that the file comes from (see ``run.origin``);
- ``tied``: names of one and the same tensor, which is stored once;
- ``meta``: anything else, e.g. the position of a training.
"""

import importlib
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from multihead.run import checked_tensors as sealed_file
from multihead.run import embedded_checksum as seal
from multihead.run import files
from multihead.run.checked_tensors import FORMAT, KEY, SealedTensors
from multihead.run.origin import Origin

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["KEY", "SealedTensors", "load", "reading", "save"]


def save(
    path: Path, tensors: "Mapping[str, Tensor]", meta: Mapping[str, Any], origin: Origin | None = None
) -> None:
    """Write tensors and metadata as one sealed file, whole or not at all; same content, same bytes.

    Names of one and the same tensor (tied weights) are stored once.

    Args:
        path: the file.
        tensors: by name.
        meta: anything that JSON can hold.
        origin: the training that they come from.

    Raises:
        UserError: the disk refuses.
    """
    untied: dict[str, Tensor] = {}
    tied: dict[str, str] = {}
    first: dict[tuple[object, ...], str] = {}
    for name in sorted(tensors):
        tensor = tensors[name].detach()
        identity = (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device)
        if tensor.numel() and identity in first:
            tied[name] = first[identity]
            continue
        first[identity] = name
        tensor = tensor.cpu().contiguous()
        # safetensors refuses tensors that share memory; a view is written as a tensor of its own.
        untied[name] = tensor.clone() if tensor.untyped_storage().nbytes() != tensor.nbytes else tensor
    origin = origin or Origin()
    described = {"format": FORMAT, "seal": seal.OPEN, "run": origin.run, "tokenizers": origin.tokenizers}
    text = json.dumps(described | {"tied": tied, "meta": meta}, sort_keys=True)
    files.write(path, lambda partial: _save_file(untied, partial, {KEY: text}))


def _save_file(tensors: "dict[str, Tensor]", path: Path, metadata: dict[str, str]) -> None:
    writer: Any = importlib.import_module("safetensors.torch")
    try:
        writer.save_file(tensors, path, metadata)
    except SafetensorError as error:
        # Its message names a full disk in its own words; the system's reason is in it.
        raise OSError(_errno(str(error)), str(error)) from error
    seal.close(path)


def _errno(text: str) -> int:
    _, _, number = text.partition("(os error ")
    return int(number.split(")")[0]) if number else 0


def load(path: Path, device: "torch.device | str" = "cpu") -> "tuple[dict[str, Tensor], dict[str, Any]]":
    """Return the tensors of a file and what belongs to them; raises as :func:`reading` does."""
    with reading(path, device) as content:
        return content.tensors, content.meta


def reading(path: Path, device: "torch.device | str" = "cpu") -> AbstractContextManager[SealedTensors]:
    """Yield a file's content while its checksum is verified; see ``sealed_file.reading``."""
    return sealed_file.reading(path, "pt", str(device))
