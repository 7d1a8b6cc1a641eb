"""Loading of translators: by the native kernels alone where they accept the run, else with PyTorch."""

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from multihead.errors import UserError
from multihead.run.search_record import NAME, SearchRecord
from multihead.system import native_library
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.lines.native_translator import NativeTranslator

GPUS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd")
"""Files that a system with a GPU for PyTorch has; a Mac has one without them."""


def load_translator(*folders: str | Path, device: str = "auto", precision: str = "auto") -> LineTranslator:
    """Load a run, or several as an ensemble; PyTorch is imported only where the kernels do not suffice.

    Raises:
        UserError: as ``Translator.load``; PyTorch is needed and not installed.
    """
    record = native_record(*folders, device=device)
    if record is not None:
        return NativeTranslator(record, precision)
    if find_spec("torch") is None:
        raise UserError(
            f"this needs PyTorch, which is not installed: no valid {NAME}, several runs, or another device",
            place=str(folders[0]),
            remedy=f"Where PyTorch is installed, `multihead doctor RUN` writes {NAME}, if the run allows it.",
        )
    translator: Any = importlib.import_module("multihead.tasks.translation.lines.translator").Translator
    found: LineTranslator = translator.load(*folders, device=device, precision=precision)
    return found


def native_record(*folders: str | Path, device: str = "auto") -> SearchRecord | None:
    """Return the record by which a run is searched without PyTorch; None: it needs PyTorch."""
    if len(folders) != 1 or not native_library.level() or not (device == "cpu" or _is_cpu(device)):
        return None
    return SearchRecord.read(folders[0])


def device_type(*folders: str | Path, device: str = "auto") -> str:
    """Return the type of the device that a translator of these runs is on.

    Raises:
        UserError: the device is not available.
    """
    if native_record(*folders, device=device) is not None:
        return "cpu"
    found: str = importlib.import_module("multihead.system.hardware").pick_device(device).type
    return found


def _is_cpu(device: str) -> bool:
    """Return True if "auto" is the CPU, as far as can be seen without PyTorch."""
    return device == "auto" and sys.platform != "darwin" and not any(Path(gpu).exists() for gpu in GPUS)
