"""Check the installation, or how this machine runs a trained model.

    multihead doctor
    multihead doctor runs/de-en
    multihead doctor --json

Without a run it prints versions, the device, and missing optional packages.
With a run it prints the engine that translates with it on this machine, and why
faster engines are not used.
"""

import importlib
import json
import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Annotated

from rich.table import Table

from multihead.cli import _console, _options
from multihead.run import Run, manifest
from multihead.run.environment import PACKAGES
from multihead.run.names import ENVIRONMENT
from multihead.run.verify import checksums
from multihead.system import native_library
from multihead.system.cores import usable_cores
from multihead.system.imports import install_command, is_installed
from multihead.tasks.translation.lines.loading import native_record, needs_pytorch

OPTIONAL = {
    "ctranslate2": "`export --to ctranslate2`: pip install 'multihead[export]'",
    "sacremoses": "`evaluate --tokenise moses`: pip install 'multihead[published]'",
    "spacy": "`evaluate --tokenise spacy`: pip install 'multihead[published]'",
    "prometheus_client": "`serve`: pip install 'multihead[serve]'",
    "python_multipart": "`serve`: pip install 'multihead[serve]'",
    "starlette": "`serve`: pip install 'multihead[serve]'",
    "uvicorn": "`serve`: pip install 'multihead[serve]'",
}


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    run: Annotated[str | None, _options.POSITIONAL, _options.Option(metavar="[RUN]")] = None
    """Run folder; without it, the installation is checked."""
    json: _options.Flag = False
    """Print JSON: a list of names and texts, in the order of the report."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    rows = _run_report(Run.open(options.run)) if options.run else _installation_report()
    if options.json:
        report = [{"name": name, "text": text} for name, text in rows]
        _console.output().print(json.dumps(report, ensure_ascii=False, indent=1))
        return 0
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(name, value)
    _console.output().print(table, soft_wrap=False)
    return 0


def _run_report(run: Run) -> Iterator[tuple[str, str]]:
    """Yield how this machine runs a run's model, with PyTorch or without."""
    manifest.check_listed(run.folder, (ENVIRONMENT,))  # translation reads it, the report does not
    yield "run", str(run.folder)
    yield "checksums", checksums(run.folder)
    if is_installed("torch"):
        yield from importlib.import_module("multihead.cli._engine_report").engine_report(run)
    elif native_record(run.folder) is not None:
        yield "engine", f"native kernels for {native_library.level()}"
        yield "PyTorch", f"not installed, and not needed for translation; else: {install_command('torch')}"
    else:
        raise needs_pytorch(run.folder)


def _installation_report() -> Iterator[tuple[str, str]]:
    """Yield versions, hardware, and optional packages."""
    yield "python", platform.python_version()
    for name in PACKAGES:
        if name != "multihead" and not is_installed(name):
            yield name, f"not installed; to train, evaluate and inspect: {install_command(name)}"
        else:
            yield name, metadata.version(name)
    yield "cores", f"{usable_cores()} usable"
    if is_installed("torch"):
        yield from importlib.import_module("multihead.cli._engine_report").hardware_report()
    if not native_library.level():
        yield "native", "not built: PyTorch is used; with a C++ compiler installed, install multihead again"
    else:
        yield "native", f"kernels for {native_library.level()}, for computation on the CPU"
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    yield "compiler", compiler or "none found: training.compile needs one on a CPU"
    for name, use in OPTIONAL.items():
        yield name, metadata.version(name) if is_installed(name) else f"not installed; for {use}"
