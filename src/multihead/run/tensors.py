"""Tensors on disk: safetensors with one metadata key, which holds everything else as JSON.

One key, because safetensors writes several in no fixed order: the same content would be other bytes.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from multihead import disk
from multihead.errors import UserError
from multihead.run import files

KEY = "multihead"


def save(path: Path, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
    """Write tensors and what belongs to them as one file, whole or not at all; same content, same bytes.

    Names of one and the same tensor (tied weights) are stored once.

    Args:
        path: the file.
        tensors: by name.
        meta: anything that JSON can hold.

    Raises:
        UserError: the disk refuses.
    """
    kept: dict[str, Tensor] = {}
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
        kept[name] = tensor.clone() if tensor.untyped_storage().nbytes() != tensor.nbytes else tensor
    text = json.dumps({"tied": tied, "meta": meta}, sort_keys=True)
    files.write(path, lambda partial: _save_file(kept, partial, {KEY: text}))


def _save_file(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str]) -> None:
    try:
        save_file(tensors, path, metadata)
    except SafetensorError as error:
        # It tells of a full disk in its own words; ask the system for the reason.
        raise OSError(_errno(str(error)), str(error)) from error


def _errno(text: str) -> int:
    _, _, number = text.partition("(os error ")
    return int(number.split(")")[0]) if number else 0


def load(path: Path, device: torch.device | str = "cpu") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors of a file and what belongs to them.

    Raises:
        UserError: no such file, or it is cut off or not a file of ours.
    """
    try:
        disk.regular_size(path)  # a pipe would be waited for
        with safe_open(path, framework="pt", device=str(device)) as file:
            tied, meta = _description(file.metadata())
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        tensors.update({name: tensors[same] for name, same in tied.items()})
    except FileNotFoundError:
        raise UserError("no such file", place=str(path)) from None
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"damaged, or not a safetensors file ({error})", place=str(path)) from None
    return tensors, meta


def _description(metadata: Mapping[str, str] | None) -> tuple[dict[str, str], dict[str, Any]]:
    if not metadata or KEY not in metadata:
        return {}, {}
    described = json.loads(metadata[KEY])
    tied, meta = described["tied"], described["meta"]
    if not isinstance(tied, dict) or not isinstance(meta, dict):
        raise TypeError(f"{KEY} in its header is not as it should be")
    return tied, meta
