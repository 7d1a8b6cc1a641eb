"""Check this machine, and how it runs a trained model.

    multihead doctor
    multihead doctor runs/de-en

Without a run: versions, the device, and what is not installed. With one: the
engine that searches it here, and why the faster ones do not.
"""

import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Annotated

import torch
import tyro
from rich.table import Table
from torch import nn

from multihead import hardware, native
from multihead.cli import _console, _options
from multihead.cores import usable_cores
from multihead.engines.choose import OWN_STEPS, choose
from multihead.export.ctranslate2 import not_expressible
from multihead.nn.description import EncoderDecoderSpec, UndescribedError, describe
from multihead.run import Run
from multihead.run.environment import PACKAGES

OPTIONAL = {
    "ctranslate2": "`export --to ctranslate2`: pip install 'multihead[export]'",
    "sacremoses": "`evaluate --tokenise moses`: pip install 'multihead[published]'",
    "spacy": "`evaluate --tokenise spacy`: pip install 'multihead[published]'",
    "starlette": "`serve`: pip install 'multihead[serve]'",
    "uvicorn": "`serve`: pip install 'multihead[serve]'",
}


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    run: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help_behavior_hint="")] = (
        None
    )
    """Run folder; without one, the machine is checked."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    table = Table.grid(padding=(0, 2))
    for name, value in _about(Run.open(options.run)) if options.run else _findings():
        table.add_row(name, value)
    _console.output().print(table, soft_wrap=False)
    return 0


def _about(run: Run) -> Iterator[tuple[str, str]]:
    """The device, the engine that searches a run's model, and the reasons against the others."""
    device = hardware.pick_device()
    model = run.load_model(device).eval()
    yield "run", str(run.folder)
    yield "model", f"{run.recipe.kind}, {sum(each.numel() for each in model.parameters()):,} parameters"
    yield "device", torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    dtype = hardware.pick_dtype("auto", device)
    yield "precision", str(dtype).removeprefix("torch.")
    if run.task != "translation":
        yield "engine", f"{OWN_STEPS}: there are engines for translators only"
        return
    choice = choose(model, device, dtype)
    yield "engine", choice.engine
    for name, reason in choice.declined.items():
        yield "", f"not {name}: {reason}"
    yield "export", _export(model)


def _export(model: nn.Module) -> str:
    """Whether CTranslate2 can compute a model."""
    try:
        reasons = not_expressible(describe(model, EncoderDecoderSpec))
    except UndescribedError as error:
        reasons = [str(error)]
    return f"not to ctranslate2: {', '.join(reasons)}" if reasons else "to ctranslate2"


def _findings() -> Iterator[tuple[str, str]]:
    yield "python", platform.python_version()
    for name in PACKAGES:
        yield name, metadata.version(name)
    device = hardware.pick_device()
    yield "device", torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    if device.type == "cuda":
        there = find_spec("triton") is not None
        yield "triton", "compiles the GPU's kernels" if there else "not there: PyTorch's own kernels are used"
    yield "cores", f"{usable_cores()} usable"
    fast = hardware.has_fast_bf16(device)
    yield (
        "bf16",
        "computed by the hardware" if fast else "not in the hardware: fp32 is used",
    )
    yield "training", f"matrix products in {hardware.training_precision('auto', device)}"
    if device.type == "cpu":
        features = {name for name, there in torch.cpu.get_capabilities().items() if there is True}
        known = sorted(features & {"avx2", "avx512_f", "avx512_bf16", "amx_bf16", "sve", "sve_bf16", "bf16"})
        yield "processor", ", ".join(known) or "no vector units that torch knows of"
        if not fast:
            yield "hint", "training takes two to six times as long as with bf16 units"
            if native.level() == "avx2":
                yield "hint", "`translate --precision int8` is about 1.3 times as fast as in fp32"
    yield "native", _native(device)
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    yield "compiler", compiler or "none found: training.compile needs one on a CPU"
    for name, use in OPTIONAL.items():
        yield name, metadata.version(name) if find_spec(name) else f"not there; for {use}"


def _native(device: torch.device) -> str:
    """Which native kernels are in use."""
    if not native.level():
        return "not there: plain PyTorch is used; with a C++ compiler at hand, install multihead again"
    use = f"kernels for {native.level()}"
    return use if device.type == "cpu" else f"{use}, where something runs on the CPU"
