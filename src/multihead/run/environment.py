"""Provenance of a run: versions, machine, data. No names of users, machines or folders."""

import importlib
import os
import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Len
from pydantic import BaseModel, ConfigDict, ValidationError

from multihead.data.hashes import file_sha256
from multihead.errors import UserError
from multihead.system import native_library

PACKAGES = ("multihead", "torch", "numpy", "tokenizers", "safetensors", "sacrebleu")
FLAGS = ("avx2", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16", "bf16", "sve")
"""Processor features that change speed or rounding."""


class _EnvironmentKeys(BaseModel):
    """The keys of environment.json that reports and later commands read; there may be more."""

    model_config = ConfigDict(strict=True, extra="allow")


class _File(_EnvironmentKeys):
    name: str
    bytes: int
    sha256: str


class _Cleaning(_EnvironmentKeys):
    read: int
    kept: int
    dropped: dict[str, int]
    first: dict[str, int] = {}


class _Data(_EnvironmentKeys):
    fingerprint: str = ""
    files: list[_File] = []
    cleaning: _Cleaning | None = None
    labels: list[str] = []
    directions: list[Annotated[list[str], Len(2, 2)]] = []
    symbols: list[str] = []
    changed: list[str] = []


class _Environment(_EnvironmentKeys):
    versions: dict[str, str] = {}
    machine: dict[str, Any] = {}
    data: _Data


def check(found: Mapping[str, Any], place: Path) -> None:
    """Refuse an environment.json that this package would not write.

    Raises:
        UserError: a key is missing, or its value is of the wrong kind.
    """
    try:
        _Environment.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        fact = f'"{".".join(map(str, first["loc"]))}" is missing or of the wrong kind'
        raise UserError(fact, place=str(place), remedy="Copy the run folder again as a whole.") from None


def environment(data: Mapping[str, Any] | None = None, *, products: str = "") -> dict[str, Any]:
    """Return the content of environment.json.

    Args:
        data: facts about the data, e.g. ``{"files": file_hashes(...), "fingerprint": "..."}``.
        products: number format of the matrix products in training, ``hardware.training_precision``.
    """
    machine = _machine() | ({"products": products} if products else {})
    return {"versions": _versions(), "machine": machine, "data": dict(data or {})}


def file_hashes(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return name (without folder), size in bytes and SHA-256 of each file."""
    hashes = []
    for path in paths:
        hashes.append({"name": path.name, "bytes": path.stat().st_size, "sha256": file_sha256(path)})
    return hashes


def _versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in PACKAGES}


def _machine() -> dict[str, Any]:
    torch: Any = importlib.import_module("torch")  # here: reading a run needs no PyTorch
    flags = set(_cpu_line("flags", "Features").split())
    machine: dict[str, Any] = {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cpu": _cpu_line("model name", "Model") or platform.processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_gib": _memory_gib(),
        "flags": [flag for flag in FLAGS if flag in flags],
        "native": native_library.level() or "none",
    }
    if torch.cuda.is_available():
        machine["gpus"] = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return machine


def _cpu_line(*names: str) -> str:
    """Return the value of the first of these keys in Linux's /proc/cpuinfo, "" elsewhere."""
    listed = Path("/proc/cpuinfo")
    for line in listed.read_text().split("\n") if listed.exists() else []:
        name, _, value = line.partition(":")
        if name.strip() in names:
            return value.strip()
    return ""


def _memory_gib() -> float | None:
    if "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
