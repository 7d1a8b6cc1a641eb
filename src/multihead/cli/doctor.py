"""Check the installation, or how this machine runs a trained model.

    multihead doctor
    multihead doctor runs/de-en
    multihead doctor --json

Without a run it prints versions, the device, and missing optional packages.
With a run it prints the engine that translates with it on this machine, and why
faster engines are not used.
"""

import json
import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Annotated, Any

import torch
from rich.table import Table
from torch import nn

from multihead import hardware, native
from multihead.cli import _console, _options
from multihead.cores import usable_cores
from multihead.engines.choose import OWN_STEPS, choose
from multihead.export.ctranslate2 import not_expressible
from multihead.generation.loading import native_record
from multihead.generation.recording import record_run
from multihead.nn.description import EncoderDecoderSpec, UndescribedError, describe
from multihead.run import Run
from multihead.run.environment import PACKAGES
from multihead.run.verify import checksums
from multihead.search.consistency import drawing_inconsistency, example, inconsistency, text_inconsistency

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
    """Yield the device, the engine for the run's model, and the reasons against faster engines."""
    device = hardware.pick_device()
    model = run.load_model(device).eval()
    yield "run", str(run.folder)
    yield "checksums", checksums(run.folder)
    yield "model", f"{run.recipe.kind}, {sum(each.numel() for each in model.parameters()):,} parameters"
    yield "device", torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    dtype = hardware.pick_dtype("auto", device)
    yield "precision", str(dtype).removeprefix("torch.")
    if run.task != "translation":
        yield "engine", f"{OWN_STEPS}: other engines are for translators only"
        if differs := _inconsistency(run, model, device):
            yield "caution", differs
        return
    choice = choose(model, device, dtype)
    if device.type == "cpu":
        record_run(run)
        alone = native_record(run.folder) is not None
    yield "engine", choice.engine
    for name, reason in choice.declined.items():
        yield "", f"not {name}: {reason}"
    if differs := _inconsistency(run, model, device):
        yield "caution", differs
    if device.type == "cpu":
        yield "PyTorch", "not needed for translation" if alone else "needed for translation"
    yield "export", _export(model)


def _inconsistency(run: Run, model: nn.Module, device: torch.device) -> str | None:
    """Return how training and search differ, for the models that search; None: they agree."""
    made: Any = model
    if run.task == "language":
        return text_inconsistency(model, run.tokenizers()[0].vocab_size, made.context, device)
    if run.task == "drawing":
        return drawing_inconsistency(model, device)
    if run.task != "translation":
        return None
    source, target = run.tokenizers()
    pairs = example(source.vocab_size, target.vocab_size, target.bos_id, getattr(model, "limit", None))
    return inconsistency(model, pairs, device)


def _export(model: nn.Module) -> str:
    """Report whether the model can be exported to CTranslate2."""
    try:
        reasons = not_expressible(describe(model, EncoderDecoderSpec))
    except UndescribedError as error:
        reasons = [str(error)]
    return f"not to ctranslate2: {', '.join(reasons)}" if reasons else "to ctranslate2"


def _installation_report() -> Iterator[tuple[str, str]]:
    """Yield versions, hardware, and optional packages."""
    yield "python", platform.python_version()
    for name in PACKAGES:
        yield name, metadata.version(name)
    device = hardware.pick_device()
    yield "device", torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    if device.type == "cuda":
        triton = find_spec("triton") is not None
        yield "triton", "compiles GPU kernels" if triton else "not installed: PyTorch's own kernels are used"
    yield "cores", f"{usable_cores()} usable"
    fast = hardware.has_fast_bf16(device)
    yield (
        "bf16",
        "supported by the hardware" if fast else "not supported by the hardware: fp32 is used",
    )
    yield "training", f"matrix products in {hardware.training_precision('auto', device)}"
    if device.type == "cpu":
        features = {name for name, supported in torch.cpu.get_capabilities().items() if supported is True}
        known = sorted(features & {"avx2", "avx512_f", "avx512_bf16", "amx_bf16", "sve", "sve_bf16", "bf16"})
        yield "processor", ", ".join(known) or "no vector instructions known to PyTorch"
        if not fast:
            yield "hint", "training is two to six times slower than with bf16 instructions"
            if native.level() == "avx2":
                yield "hint", "`translate --precision int8` is about 1.3 times as fast as fp32"
    yield "native", _native(device)
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    yield "compiler", compiler or "none found: training.compile needs one on a CPU"
    for name, use in OPTIONAL.items():
        yield name, metadata.version(name) if find_spec(name) else f"not installed; for {use}"


def _native(device: torch.device) -> str:
    """Report the level of the native kernels."""
    if not native.level():
        return "not built: PyTorch is used; with a C++ compiler installed, install multihead again"
    use = f"kernels for {native.level()}"
    return use if device.type == "cpu" else f"{use}, for computation on the CPU"
