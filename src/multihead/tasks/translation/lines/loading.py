"""Loading of translators: with the native kernels alone if they accept the run, else with PyTorch."""

import importlib
import sys
from pathlib import Path
from typing import Any

from multihead.errors import UserError
from multihead.run.search_record import NAME, SearchRecord
from multihead.system import native_library
from multihead.system.imports import install_command, is_installed
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.lines.native_translator import NativeTranslator

GPUS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd")
"""Device files of GPUs that PyTorch supports; a Mac has a GPU without them."""


def load_translator(*folders: str | Path, device: str = "auto", precision: str = "auto") -> LineTranslator:
    """Load a run, or several as an ensemble; PyTorch is imported only if the kernels do not suffice.

    Raises:
        UserError: as ``Translator.load``; PyTorch is needed and not installed.
    """
    record = native_record(*folders, device=device)
    if record is not None:
        return NativeTranslator(record, precision)
    if not is_installed("torch"):
        raise needs_pytorch(*folders, device=device)
    translator: Any = importlib.import_module("multihead.tasks.translation.lines.translator").Translator
    loaded: LineTranslator = translator.load(*folders, device=device, precision=precision)
    return loaded


def native_record(*folders: str | Path, device: str = "auto") -> SearchRecord | None:
    """Return the record for searching with a run without PyTorch; None: it needs PyTorch."""
    if len(folders) != 1 or not native_library.level() or not (device == "cpu" or _is_cpu(device)):
        return None
    return SearchRecord.read(folders[0])


def needs_pytorch(*folders: str | Path, device: str = "auto") -> UserError:
    """Return the error that these runs need PyTorch, with reason and remedy.

    Raises:
        UserError: the first folder is not a run.
    """
    importlib.import_module("multihead.run").Run.open(folders[0])
    if len(folders) > 1:
        reason, mended = "an ensemble", ""
    elif not native_library.level():
        reason, mended = _no_native_part(native_library.WHY_NOT_LOADED)
    elif not (device == "cpu" or _is_cpu(device)):
        reason, mended = f"the device is {device}", "give --device cpu, or"
    else:
        reason = f"it has no {NAME} that fits its files and this version"
        mended = (
            "run `multihead doctor RUN` where PyTorch is installed, which writes it if the run allows, or"
        )
    remedy = f"{mended} {install_command('torch')}".strip()
    return UserError(
        f"this run needs PyTorch, which is not installed: {reason}",
        place=str(folders[0]),
        remedy=remedy[0].upper() + remedy[1:] if mended else remedy,
    )


def _no_native_part(why: str) -> tuple[str, str]:
    """Return why there are no native kernels, and the remedy, from the loader's message."""
    if "libgomp" in why:
        return "the native part lacks OpenMP's library", "install it (Debian: apt install libgomp1), or"
    reason = (
        f"the native part does not load ({why})" if why else "multihead was installed without its native part"
    )
    return reason, "install it again with a C++ compiler, or"


def device_type(*folders: str | Path, device: str = "auto") -> str:
    """Return the device type of a translator of these runs.

    Raises:
        UserError: the device is not available.
    """
    if native_record(*folders, device=device) is not None:
        return "cpu"
    if not is_installed("torch"):
        raise needs_pytorch(*folders, device=device)
    return str(importlib.import_module("multihead.system.hardware").pick_device(device).type)


def _is_cpu(device: str) -> bool:
    """Return whether "auto" is the CPU, as far as can be seen without PyTorch."""
    return device == "auto" and sys.platform != "darwin" and not any(Path(gpu).exists() for gpu in GPUS)
